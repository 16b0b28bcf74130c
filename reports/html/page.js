"use strict";
// Draws the report. Every text goes in through textContent: names of models, nodes and files are hostile.
const data = JSON.parse(document.getElementById("data").textContent);
const page = document.getElementById("page");

function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === "onclick" || name === "oninput") node[name] = value;
    else if (value !== undefined && value !== null) node.setAttribute(name, value);
  }
  for (const child of children.flat()) {
    if (child === null || child === undefined) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

const isNumber = x => typeof x === "number" && Number.isFinite(x);
// Non-finite numbers are strings in records: "inf" sorts last, "nan" after it.
function sortable(x) {
  if (x === null || x === undefined || x === "") return -Infinity;
  if (x === "inf") return Infinity;
  return x;
}
function short(x) {
  if (x === null || x === undefined) return "";
  if (!isNumber(x)) return String(x);
  if (Number.isInteger(x) && Math.abs(x) < 1e9) return x.toLocaleString("en");
  const size = Math.abs(x);
  return size !== 0 && (size < 1e-3 || size >= 1e6) ? x.toExponential(2) : String(+x.toPrecision(3));
}
function seconds(x) {
  if (!isNumber(x)) return "";
  if (x < 1e-3) return (x * 1e6).toFixed(0) + " µs";
  if (x < 1) return (x * 1e3).toFixed(x < 0.01 ? 2 : 1) + " ms";
  return x.toFixed(2) + " s";
}
// Never rounded up to 1: below 1 passes.
function margin(x) {
  if (!isNumber(x)) return short(x);
  return x < 1 && x > 0.9995 ? (Math.floor(x * 1e5) / 1e5).toFixed(5) : short(x);
}
const percent = x => isNumber(x) ? (100 * x).toFixed(x === 1 ? 0 : 1) + " %" : "";
function bytes(x) {
  if (!isNumber(x)) return "";
  for (const unit of ["B", "KiB", "MiB", "GiB"]) {
    if (x < 1024 || unit === "GiB") return (unit === "B" ? x : x.toFixed(1)) + " " + unit;
    x /= 1024;
  }
}
function median(list) {
  if (!list || list.length === 0) return null;
  const sorted = [...list].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}
const sum = (list, value) => list.reduce((total, x) => total + value(x), 0);

// columns: {name, value(row), show(row)?, number?, tip?}. detail(row): node shown below a clicked row.
function table(columns, rows, {detail, filter, limit = 500} = {}) {
  let sorted = [...rows], order = null, descending = false, needle = "", picked = "";
  const body = el("tbody");
  const head = el("tr", {}, columns.map((column, i) => el("th", {
    class: column.number ? "number" : null, title: column.tip, scope: "col",
    onclick: event => {
      descending = order === i ? !descending : !!column.number;
      order = i;
      for (const th of head.children) th.removeAttribute("aria-sort");
      event.currentTarget.setAttribute("aria-sort", descending ? "descending" : "ascending");
      sorted.sort((a, b) => {
        const x = sortable(column.value(a)), y = sortable(column.value(b));
        const less = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
        return descending ? -less : less;
      });
      draw();
    }}, column.name)));
  const count = el("span", {class: "dim"});
  function draw() {
    const shown = sorted.filter(row => (!picked || filter.value(row) === picked) &&
      (!needle || columns.some(c => String(c.value(row) ?? "").toLowerCase().includes(needle))));
    body.replaceChildren(...shown.slice(0, limit).map(row => {
      const tr = el("tr", {class: detail ? "row" : null}, columns.map(c => {
        const content = c.show ? c.show(row) : short(c.value(row));
        return el("td", {class: c.number ? "number" : c.word ? "word" : "text"}, content);
      }));
      if (detail) tr.onclick = () => {
        if (tr.nextSibling && tr.nextSibling.className === "detail") { tr.nextSibling.remove(); return; }
        tr.after(el("tr", {class: "detail"}, el("td", {colspan: columns.length}, detail(row))));
      };
      return tr;
    }));
    count.textContent = shown.length === rows.length ? `${rows.length} rows`
      : `${shown.length} of ${rows.length} rows`;
    if (shown.length > limit) count.textContent += `, the first ${limit} shown`;
  }
  const controls = el("div", {class: "controls"});
  if (rows.length > 8) {
    controls.append(el("input", {type: "search", placeholder: "filter", "aria-label": "filter",
      oninput: event => { needle = event.target.value.toLowerCase(); draw(); }}));
  }
  if (filter) {
    const values = [...new Set(rows.map(filter.value))].sort();
    const select = el("select", {"aria-label": filter.name, oninput: event => { picked = event.target.value; draw(); }},
      el("option", {value: ""}, `all ${filter.name}`), values.map(v => el("option", {value: v}, v)));
    if (values.length > 1) controls.append(select);
  }
  controls.append(count);
  draw();
  return el("div", {}, controls, el("div", {class: "scroll"}, el("table", {}, el("thead", {}, head), body)));
}

const status = record => el("span", {class: record.class}, record.status + (record.reason ? ` (${record.reason})` : ""));
const fallbackCount = record => sum(record.fallbacks || [], f => f.count);

function drillDown(record, run) {
  const parts = [];
  if (record.detail) parts.push(el("p", {}, record.detail));
  if (record.first_bad_node) {
    const node = record.first_bad_node;
    parts.push(el("h3", {}, "First node outside its Bound"),
      el("p", {}, el("code", {}, `${node.name}  ${node.op}`), " margin ", margin(node.margin), el("br"),
        node.source ? el("code", {}, node.source) : el("span", {class: "dim"}, "no source line")));
  }
  if (record.worst) {
    const w = record.worst;
    parts.push(el("h3", {}, "Worst element"), el("p", {}, el("code", {}, `${w.output}[${(w.index || []).join(", ")}]`),
      ` got ${w.got}, want ${w.want}, Bound ${w.bound}${w.ulp === null || w.ulp === undefined ? "" : `, ${short(w.ulp)} ulp`}`));
  }
  const gates = Object.entries(record.gates || {}).filter(([, gate]) => gate.status !== "not_applicable");
  if (gates.length) parts.push(el("h3", {}, "Gates"), table([
    {name: "gate", value: g => g[0]}, {name: "status", value: g => g[1].status},
    {name: "value", value: g => g[1].value, number: true}, {name: "limit", value: g => g[1].limit, number: true}], gates));
  if ((record.fallbacks || []).length) parts.push(el("h3", {}, "Fallbacks"), table(fallbackColumns, record.fallbacks));
  const nodes = run.nodes.filter(n => n.case_id === record.id && n.mode === record.mode);
  if (nodes.length) parts.push(el("h3", {}, "Nodes"), table([
    {name: "node", value: n => n.name}, {name: "operator", value: n => n.op}, {name: "status", value: n => n.status},
    {name: "margin", value: n => n.margin, show: n => margin(n.margin), number: true}, {name: "dtype", value: n => n.dtype},
    {name: "shape", value: n => `[${(n.shape || []).join(", ")}]`}, {name: "source", value: n => n.source},
    {name: "module", value: n => n.module_path}], nodes));
  if (record.repro) parts.push(el("h3", {}, "Run this case alone"), el("pre", {}, record.repro));
  return el("div", {}, parts);
}

const fallbackColumns = [
  {name: "operator", value: f => f.op}, {name: "reason", value: f => f.reason},
  {name: "count", value: f => f.count, number: true},
  {name: "bytes moved", value: f => f.bytes, show: f => bytes(f.bytes), number: true},
  {name: "time", value: f => f.seconds, show: f => seconds(f.seconds), number: true}];

function caseColumns(records) {
  const columns = [
    {name: "case", value: r => r.id}, {name: "mode", value: r => r.mode, word: true},
    {name: "status", value: r => r.status, show: status},
    {name: "margin", value: r => r.margin, show: r => margin(r.margin), number: true, tip: "worst error divided by its Bound; at most 1"}];
  const any = test => records.some(test);
  if (any(r => r.residency && r.suite !== "ops")) columns.push(
    {name: "on device (nodes)", value: r => r.residency?.nodes, show: r => percent(r.residency?.nodes), number: true},
    {name: "(FLOPs)", value: r => r.residency?.flops, show: r => percent(r.residency?.flops), number: true});
  columns.push({name: "fallbacks", value: fallbackCount, number: true});
  if (any(r => isNumber(r.phases?.compile_cold_s))) columns.push({name: "cold compile", number: true,
    tip: "compile time of the backend's own compiler", value: r => r.phases.compile_cold_s, show: r => seconds(r.phases.compile_cold_s)});
  columns.push(
    {name: "first run", value: r => r.phases?.first_run_s, show: r => seconds(r.phases?.first_run_s), number: true},
    {name: "steady", value: r => median(r.phases?.steady_s), show: r => seconds(median(r.phases?.steady_s)), number: true,
      tip: "median of the executions after the first; wall time of this machine"});
  if (any(r => r.device && r.device.instructions)) columns.push(
    {name: "instructions", value: r => r.device?.instructions, number: true});
  columns.push({name: "witness", value: r => r.witness, word: true});
  return columns;
}

function chart(title, config) {
  const canvas = el("canvas", {role: "img", "aria-label": title});
  const holder = el("div", {class: "chart"}, el("b", {}, title), el("div", {}, canvas));
  const color = getComputedStyle(document.documentElement).getPropertyValue("--dim").trim();
  Chart.defaults.color = color;
  queueMicrotask(() => new Chart(canvas, {...config, options: {animation: false, maintainAspectRatio: false, ...config.options}}));
  return holder;
}

function charts(run) {
  const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const made = [];
  const margins = run.records.map(r => r.margin).filter(m => m !== null && m !== undefined).map(m => m === "inf" ? Infinity : m);
  if (margins.length) {
    const edges = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1];
    const labels = ["0", ...edges.slice(1).map((edge, i) => `≤ ${edge}`), "> 1"];
    const counts = labels.map(() => 0);
    for (const m of margins) counts[m === 0 ? 0 : m > 1 ? labels.length - 1 : Math.ceil(m * 10 - 1e-12)]++;
    made.push(chart("Margins: worst error ÷ Bound, by number of cases", {type: "bar",
      data: {labels, datasets: [{data: counts, backgroundColor: labels.map(l => l === "> 1" ? css("--fail") : css("--accent"))}]},
      options: {plugins: {legend: {display: false}}, scales: {y: {title: {display: true, text: "cases"}, ticks: {precision: 0}}}}}));
  }
  const models = run.records.filter(r => r.suite !== "ops" && isNumber(r.phases?.first_run_s) && (r.phases.steady_s || []).length);
  if (models.length > 1 && models.length <= 60) {
    made.push(chart("First wait and steady time (wall time on this machine, log scale)", {type: "bar",
      data: {labels: models.map(r => r.id.replace(/^models\//, "") + (r.mode === "eager" ? "" : " " + r.mode)), datasets: [
        {label: "cold compile + first run", data: models.map(r => 1e3 * ((r.phases.compile_cold_s || 0) + r.phases.first_run_s)), backgroundColor: css("--skip")},
        {label: "steady", data: models.map(r => 1e3 * median(r.phases.steady_s)), backgroundColor: css("--accent")}]},
      options: {scales: {x: {ticks: {autoSkip: false, maxRotation: 70, minRotation: 45}}, y: {type: "logarithmic", title: {display: true, text: "ms"}}}}}));
  }
  return made.length ? [el("div", {class: "charts"}, made)] : [];
}

// Planted defects (suite selftest, "selftest/OPERATOR/DEFECT"): how many were found, by operator or by defect.
function killRates(records, name, part) {
  const rows = new Map();
  for (const r of records) {
    const key = r.id.split("/")[part];
    const row = rows.get(key) || rows.set(key, {key, killed: 0, explained: 0, survived: 0}).get(key);
    if (r.status === "pass") row.killed++;
    else if (r.reason === "contract_allows") row.explained++;
    else if (r.reason === "mutant_survived") row.survived++;
  }
  const applicable = row => row.killed + row.explained + row.survived;
  return table([
    {name, value: r => r.key}, {name: "found", value: r => r.killed, number: true},
    {name: "applicable", value: applicable, number: true}, {name: "explained", value: r => r.explained, number: true},
    {name: "survived", value: r => r.survived, number: true},
    {name: "kill rate", value: r => r.killed / applicable(r), show: r => percent(r.killed / applicable(r)), number: true}],
    [...rows.values()].filter(applicable));
}

function section(run) {
  const t = run.totals;
  const total = t.passed + t.failed + t.skipped;
  const share = n => `width:${total ? 100 * n / total : 0}%`;
  const out = [
    el("h1", {}, `${run.backend}`, " ", run.loosened.length ? el("span", {class: "badge skip", title: run.loosened.join(", ")}, "loosened Contract") : null),
    el("p", {class: "meta"}, [run.device, run.version && `Assay ${run.version}`, `seed ${run.seed}`, run.contract && `Contract ${run.contract}`,
      run.started, run.machine].filter(Boolean).join(" · "), el("br"), el("code", {}, run.path)),
    run.torn ? el("p", {class: "fail"}, "The run was killed while it wrote; its last, torn record is left out.") : null,
    el("div", {class: "tiles"},
      el("div", {class: "tile pass"}, el("b", {}, short(t.passed)), "passed"),
      el("div", {class: "tile fail"}, el("b", {}, short(t.failed)), "failed"),
      el("div", {class: "tile skip"}, el("b", {}, short(t.skipped)), "skipped"),
      el("div", {class: "tile"}, el("b", {}, total ? percent(t.passed / total) : "–"), "of everything passed"),
      el("div", {class: "tile"}, el("b", {}, short(sum(run.records, fallbackCount))), "fallbacks")),
    el("div", {class: "bar", role: "img", "aria-label": `${t.passed} passed, ${t.failed} failed, ${t.skipped} skipped`},
      el("i", {style: share(t.passed) + ";background:var(--pass)"}), el("i", {style: share(t.failed) + ";background:var(--fail)"}),
      el("i", {style: share(t.skipped) + ";background:var(--skip)"})),
    el("p", {class: "dim"}, Object.entries(t.by_status).map(([name, n]) => `${name} ${n}`).join(" · "),
      t.not_exported ? ` · of the skipped, ${t.not_exported} are models that could not be exported (listed below)` : ""),
    ...charts(run),
    el("h2", {}, "Cases"),
    table(caseColumns(run.records), run.records, {detail: r => drillDown(r, run), filter: {name: "statuses", value: r => r.status}}),
  ];
  const merged = new Map();
  for (const record of run.records) for (const f of record.fallbacks || []) {
    const key = f.op + "\0" + f.reason;
    const into = merged.get(key) || {op: f.op, reason: f.reason, count: 0, bytes: 0, seconds: 0, cases: 0};
    into.count += f.count; into.bytes += f.bytes; into.seconds += f.seconds; into.cases++;
    merged.set(key, into);
  }
  out.push(el("h2", {}, "Fallbacks: nodes that the device did not run"), merged.size
    ? table([...fallbackColumns, {name: "cases", value: f => f.cases, number: true}], [...merged.values()])
    : el("p", {class: "dim"}, "None: every node that was run, was run by the device."));
  const judged = run.records.filter(r => r.margin !== null && r.margin !== undefined)
    .sort((a, b) => sortable(b.margin) - sortable(a.margin)).slice(0, 25);
  if (judged.length) out.push(el("h2", {}, "Worst margins"), table([
    {name: "case", value: r => r.id}, {name: "mode", value: r => r.mode}, {name: "margin", value: r => r.margin, show: r => margin(r.margin), number: true},
    {name: "output", value: r => r.worst?.output}, {name: "got", value: r => r.worst?.got, number: true},
    {name: "want", value: r => r.worst?.want, number: true}, {name: "Bound", value: r => r.worst?.bound, number: true}],
    judged, {detail: r => drillDown(r, run)}));
  const planted = run.records.filter(r => r.suite === "selftest");
  if (planted.length) out.push(el("h2", {}, "Planted defects"), killRates(planted, "operator", 1), killRates(planted, "defect", 2));
  if (run.not_exported.length) out.push(el("h2", {}, "Not exported"), table([
    {name: "id", value: r => r.id}, {name: "kind", value: r => r.kind}, {name: "attention", value: r => r.attention},
    {name: "reason", value: r => r.reason}], run.not_exported));
  return out;
}

page.append(...data.runs.flatMap(section).filter(Boolean));
