// Draws the report of one or more runs.

function charts(run) {
  const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const made = [], c = run.c;
  const judged = run.rows.filter(i => c.margin[i] !== null);
  if (judged.length > 1) {
    const edges = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99, 1];
    const labels = ["exact", ...edges.map(edge => `≤ ${edge}`), "> 1"];
    const counts = labels.map(() => 0);
    for (const i of judged) {
      const m = sortable(c.margin[i]), bin = edges.findIndex(edge => m <= edge);
      counts[m === 0 ? 0 : bin < 0 ? labels.length - 1 : bin + 1]++;
    }
    const wide = Math.max(...counts) > 100 * Math.min(...counts.filter(Boolean));
    made.push(chart("Margins: worst error ÷ Bound, by number of cases" + (wide ? " (log scale)" : ""), {type: "bar",
      data: {labels, datasets: [{data: counts, backgroundColor: labels.map(l => l === "> 1" ? css("--fail") : l === "exact" ? css("--pass") : css("--accent"))}]},
      options: {plugins: {legend: {display: false}}, scales: {y: {type: wide ? "logarithmic" : "linear", title: {display: true, text: "cases"},
        ticks: wide ? {callback: x => /^10*$/.test(String(x)) ? short(x) : ""} : {precision: 0}}}}}));
  }
  const models = run.rows.filter(i => c.suite[i] !== "ops" && isNumber(c.first_us[i]) && isNumber(c.steady_us[i]));
  if (models.length > 1 && models.length <= 120) {
    // One axis for every mode: bars of a model stand side by side.
    const names = [...new Set(models.map(i => c.id[i]))], modes = [...new Set(models.map(i => c.mode[i]))];
    const at = new Map(models.map(i => [c.id[i] + "\0" + c.mode[i], i]));
    const values = (mode, value) => names.map(id => { const i = at.get(id + "\0" + mode); return i === undefined ? null : value(i) / 1e3; });
    const colors = [[css("--skip"), css("--accent")], ["#d8bd72", "#8fb4e8"]];
    made.push(chart("First wait and steady time (wall time on this machine, log scale)", {type: "bar",
      data: {labels: names.map(id => id.replace(/^models\//, "")), datasets: modes.flatMap((mode, k) => [
        {label: `${mode}: cold compile + first run`, data: values(mode, i => (c.compile_us[i] || 0) + c.first_us[i]), backgroundColor: colors[k % 2][0]},
        {label: `${mode}: steady`, data: values(mode, i => c.steady_us[i]), backgroundColor: colors[k % 2][1]}])},
      options: {scales: {x: {ticks: {autoSkip: names.length > 60, maxRotation: 70, minRotation: 45}}, y: {type: "logarithmic", title: {display: true, text: "ms"}}}}}));
  }
  return made.length ? [el("div", {class: "charts"}, made)] : [];
}

// Planted defects (suite selftest, "selftest/OPERATOR/DEFECT"): how many were found, by operator or by defect.
function killRates(run, name, part) {
  const rows = new Map();
  for (const i of run.rows) {
    if (run.c.suite[i] !== "selftest") continue;
    const key = run.c.id[i].split("/")[part];
    const row = rows.get(key) || rows.set(key, {key, killed: 0, explained: 0, survived: 0}).get(key);
    if (run.c.status[i] === "pass") row.killed++;
    else if (run.c.reason[i] === "contract_allows") row.explained++;
    else if (run.c.reason[i] === "mutant_survived") row.survived++;
  }
  const applicable = row => row.killed + row.explained + row.survived;
  return table([
    {name, value: r => r.key}, {name: "found", value: r => r.killed, number: true},
    {name: "applicable", value: applicable, number: true}, {name: "explained", value: r => r.explained, number: true},
    {name: "survived", value: r => r.survived, number: true},
    {name: "kill rate", value: r => r.killed / applicable(r), show: r => percent(r.killed / applicable(r)), number: true}],
  [...rows.values()].filter(applicable));
}

// Cases that failed or were skipped, by why. `more`: a part of the key after status and reason.
function kinds(run, outcome, name, more) {
  const c = run.c, groups = new Map();
  for (const i of run.rows) {
    if (run.outcome[i] !== outcome) continue;
    const key = [c.status[i], c.reason[i], more(i)].join("\0");
    groups.has(key) ? groups.get(key).push(i) : groups.set(key, [i]);
  }
  const list = [...groups.values()];
  return table([
    {name: "status", value: g => c.status[g[0]] + " " + c.reason[g[0]], show: g => statusText(run, g[0])},
    {name, value: g => more(g[0]), word: true},
    {name: "cases", value: g => g.length, number: true, show: g => el("a", {href: "#" + hashOf({run: run.number, view: "cases",
      status: c.status[g[0]], reason: c.reason[g[0]], [name === "operator" ? "op" : "family"]: more(g[0])})}, short(g.length))},
    {name: "dtypes", value: g => [...new Set(g.map(i => run.dtype[i]))].join(" ")},
    {name: "for example", value: g => c.id[g[0]], show: g => caseLink(run, g[0])},
    {name: "says", value: g => c.detail[g[0]]}], list, {sort: [2, true], size: 25, detail: g => drillDown(run, g[0])});
}

function fallbackSection(run) {
  const t = unpack(run.facts.fallbacks), merged = new Map();
  for (let f = 0; f < t.rows; f++) {
    const key = t.op[f] + "\0" + t.reason[f];
    const into = merged.get(key) || merged.set(key, {op: t.op[f], reason: t.reason[f], count: 0, bytes: 0, seconds: 0, cases: new Set()}).get(key);
    into.count += t.count[f]; into.bytes += t.bytes[f]; into.seconds += t.seconds[f]; into.cases.add(t.case[f]);
  }
  return [el("h2", {}, "Fallbacks: nodes that the device did not run"), merged.size ? table([
    {name: "operator", value: f => f.op}, {name: "reason", value: f => f.reason}, {name: "nodes", value: f => f.count, number: true},
    {name: "bytes moved", value: f => f.bytes, show: f => bytes(f.bytes), number: true},
    {name: "time", value: f => f.seconds, show: f => seconds(f.seconds), number: true},
    {name: "cases", value: f => f.cases.size, number: true}], [...merged.values()], {sort: [2, true], size: 25,
    detail: f => table(caseColumns(run, [...f.cases]), [...f.cases], {detail: i => drillDown(run, i), size: 25})})
    : el("p", {class: "dim"}, "None: every node that was run, was run by the device.")];
}

function worstMargins(run) {
  const c = run.c, at = new Map();
  const keys = run.rows.filter(i => c.margin[i] !== null && c.margin[i] !== 0).map(i => [sortable(c.margin[i]), i]);
  keys.sort((a, b) => ordered(b[0], a[0]));
  const shown = keys.slice(0, 200).map(k => k[1]);
  if (!shown.length) return [];
  for (const i of shown) { const {t, rows} = run.partsOf("worst", i); if (rows.length) at.set(i, {t, w: rows[0]}); }
  const of = name => i => at.has(i) ? at.get(i).t[name][at.get(i).w] : null;
  return [el("h2", {}, "Worst margins"), table([
    {name: "case", value: i => c.id[i]}, {name: "mode", value: i => c.mode[i], word: true}, {name: "margin", value: i => c.margin[i],
      show: i => el("span", {class: run.outcome[i] === "fail" ? "fail" : null}, margin(c.margin[i])), number: true},
    {name: "output", value: of("output")}, {name: "got", value: of("got"), number: true},
    {name: "want", value: of("want"), number: true}, {name: "Bound", value: of("bound"), number: true},
    {name: "ulp", value: of("ulp"), number: true}], shown, {size: 25, detail: i => drillDown(run, i)})];
}

function section(run, explorer) {
  const facts = run.facts, t = facts.totals, counts = run.count(run.rows);
  const total = t.passed + t.failed + t.skipped;
  const tile = (cls, number, name, more, outcome) => el(outcome ? "a" : "div", {class: "tile " + cls,
    href: outcome ? "#" + hashOf({run: run.number, view: "cases", outcome}) : null}, el("b", {}, number), name, more ? el("small", {}, more) : null);
  const within = [counts.fallback ? `${short(counts.fallback)} of them with fallback` : "", counts.waived ? `${short(counts.waived)} waived` : ""].filter(Boolean).join(", ");
  const parts = partsOfCounts({...counts, skip: t.skipped});
  const out = [
    el("h1", {}, facts.backend, " ", facts.loosened.length ? el("span", {class: "badge skip", title: facts.loosened.join(", ")}, "loosened Contract") : null),
    el("p", {class: "meta"}, [facts.device, facts.version && `Assay ${facts.version}`, `seed ${facts.seed}`, facts.contract && `Contract ${facts.contract}`,
      facts.started, facts.machine].filter(Boolean).join(" · "), el("br"), el("code", {}, facts.path)),
    facts.torn ? el("p", {class: "fail"}, "The run was killed while it wrote; its last, torn record is left out.") : null,
    el("div", {class: "tiles"},
      tile("pass", short(t.passed), "passed", within),
      tile("fail", short(t.failed), "failed", "", t.failed ? "fail" : ""),
      tile("skip", short(t.skipped), "skipped", t.not_exported ? `${short(t.not_exported)} of them not exported` : "", counts.skip ? "skip" : ""),
      tile("", total ? percent(t.passed / total) : "–", "of everything passed"),
      tile("", t.passed + t.failed ? percent(t.passed / (t.passed + t.failed)) : "–", "of what was not skipped"),
      tile(counts.fallback ? "fallback" : "", short(sum(run.facts.fallbacks.rows ? unpack(run.facts.fallbacks).count : [], n => n)), "nodes fell back", "", counts.fallback ? "fallback" : "")),
    stack(parts, total),
    el("p", {class: "legend"}, Object.entries(t.by_status).map(([name, n]) => el("a", {href: "#" + hashOf({run: run.number, view: "cases", status: name})}, `${name} ${short(n)}`))),
  ];
  if (explorer.large) out.push(el("h2", {}, "Coverage: families of operators by dtype"), matrix(run, explorer));
  out.push(...charts(run));
  if (counts.fail) out.push(el("h2", {}, "What failed"), kinds(run, "fail", "operator", i => run.op[i]));
  out.push(el("h2", {}, "Cases"), explorer.node);
  out.push(...worstMargins(run), ...fallbackSection(run));
  if (counts.skip) out.push(el("h2", {}, "What was skipped, and why"), kinds(run, "skip", "family", i => run.family[i]));
  if (facts.not_exported.length) out.push(el("h2", {}, "Not exported"), table([
    {name: "id", value: r => r.id}, {name: "kind", value: r => r.kind}, {name: "attention", value: r => r.attention},
    {name: "reason", value: r => r.reason}], facts.not_exported, {size: 25}));
  out.push(...timeLedger(run, explorer));
  if (run.rows.some(i => run.c.suite[i] === "selftest")) out.push(el("h2", {}, "Planted defects"), killRates(run, "operator", 1), killRates(run, "defect", 2));
  return el("section", {}, out);
}

const explorers = data.runs.map((facts, number) => new Explorer(new Run(facts, number)));
page.append(...explorers.map(explorer => section(explorer.run, explorer)));
// The address says what is looked at: #case=ID, or filters such as #status=wrong&op=sum.dim_IntList&dtype=bf16.
function follow(scroll) {
  const {run, ...state} = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  const chosen = explorers[Number(run) || 0];
  for (const explorer of explorers) {
    explorer.state = explorer === chosen ? state : {};
    explorer.draw();
  }
  if (scroll && chosen && !state.case) chosen.node.scrollIntoView();
}
follow(location.hash.length > 1);
addEventListener("hashchange", () => follow(true));
