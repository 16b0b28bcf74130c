// The cases of a run: as they are read, filtered, listed and looked into.

const DTYPES = ["f32", "bf16", "f16", "f8_e4m3fn", "f8_e5m2", "f64", "i64", "i32", "i16", "i8", "u8", "bool", "c64", "c128"];
const OTHER_COLUMNS = ["mixed", "any", "bad input", "named"];
const COLUMN_TIPS = {mixed: "operands of two dtypes", any: "no tensor to take a dtype from",
  "bad input": "input that is to be refused", named: "reported faults and other cases with a name of their own"};

// What an id says: "ops/OPERATOR/DTYPE/...", "attention/KIND/...", "models/NAME".
function placeOf(id, suite, families) {
  const parts = id.split("/");
  const op = parts.length > 1 ? parts[1] : id;
  let dtype = parts.slice(2).find(p => DTYPES.includes(p));
  if (!dtype) {
    const pair = parts.slice(2, 3).find(p => p.includes("-") && p.split("-").every(x => DTYPES.includes(x)));
    dtype = parts.includes("bad") || parts.includes("bad-input") ? "bad input" : pair ? "mixed"
      : parts[2] === "any" ? "any" : "named";
  }
  return {family: suite === "ops" && Object.hasOwn(families, op) ? families[op] : suite, op, dtype};
}

// pass, fallback, waived, fail, skip: these are never added up silently.
function outcomeOf(status, cls) {
  return status === "pass_with_fallback" ? "fallback" : status === "waived" ? "waived" : cls;
}
const OUTCOMES = [["pass", "passed"], ["fallback", "passed with fallback"], ["waived", "waived"], ["fail", "failed"], ["skip", "skipped"]];

class Run {
  constructor(facts, number) {
    this.facts = facts;
    this.number = number;
    this.c = unpack(facts.cases);
    this.rows = upTo(this.c.rows);
    const {id, suite, status} = this.c, cls = this.c.class;
    const places = new Map();
    this.family = new Array(this.c.rows); this.op = new Array(this.c.rows);
    this.dtype = new Array(this.c.rows); this.outcome = new Array(this.c.rows);
    for (const i of this.rows) {
      // Ids with the same first three parts say the same, if the third names a dtype.
      const key = id[i].split("/", 3).join("/");
      let place = places.get(key);
      if (!place) {
        place = placeOf(id[i], suite[i], facts.families);
        if (suite[i] === "ops") places.set(key, place);
      }
      this.family[i] = place.family; this.op[i] = place.op; this.dtype[i] = place.dtype;
      this.outcome[i] = outcomeOf(status[i], cls[i]);
    }
    this.parts = new Map();
  }
  // Rows of a table beside the cases that belong to a case.
  partsOf(name, i) {
    let part = this.parts.get(name);
    if (!part) {
      part = {table: unpack(this.facts[name]), of: new Map()};
      part.table.case.forEach((c, row) => part.of.has(c) ? part.of.get(c).push(row) : part.of.set(c, [row]));
      this.parts.set(name, part);
    }
    return {t: part.table, rows: part.of.get(i) || []};
  }
  fallbackCount(i) {
    const {t, rows} = this.partsOf("fallbacks", i);
    return sum(rows, row => t.count[row]);
  }
  count(rows) {
    const counts = {pass: 0, fallback: 0, waived: 0, fail: 0, skip: 0};
    for (const i of rows) counts[this.outcome[i]]++;
    return counts;
  }
  worstOf(rows) {
    let worst = null;
    for (const i of rows) {
      const m = this.c.margin[i];
      if (m !== null && (worst === null || ordered(sortable(this.c.margin[worst]), sortable(m)) < 0)) worst = i;
    }
    return worst;
  }
  isSingleOperators() {
    return this.rows.some(i => this.c.suite[i] === "ops");
  }
}

const partsOfCounts = counts => OUTCOMES.map(([key, text]) => [key, counts[key], text]);
const micro = x => isNumber(x) ? x * 1e-6 : null;

function statusText(run, i) {
  const reason = run.c.reason[i];
  return el("span", {class: run.outcome[i]}, run.c.status[i] + (reason ? ` (${reason})` : ""));
}
function caseLink(run, i, text) {
  return el("a", {href: "#" + hashOf({run: run.number, case: run.c.id[i], mode: run.c.mode[i]})}, text === undefined ? run.c.id[i] : text);
}
function hashOf(state) {
  const used = Object.entries(state).filter(([name, value]) => value !== "" && value !== undefined && value !== null && !(name === "run" && value === 0));
  return new URLSearchParams(used).toString();
}

const fallbackColumns = t => [
  {name: "operator", value: f => t.op[f]}, {name: "reason", value: f => t.reason[f]},
  {name: "count", value: f => t.count[f], number: true},
  {name: "bytes moved", value: f => t.bytes[f], show: f => bytes(t.bytes[f]), number: true},
  {name: "time", value: f => t.seconds[f], show: f => seconds(t.seconds[f]), number: true}];

function drillDown(run, i) {
  const c = run.c, parts = [];
  if (c.detail[i]) parts.push(el("p", {}, c.detail[i]));
  const bad = run.partsOf("bad_nodes", i);
  for (const n of bad.rows) parts.push(el("h3", {}, "First node outside its Bound"),
    el("p", {}, el("code", {}, `${bad.t.name[n]}  ${bad.t.op[n]}`), " margin ", margin(bad.t.margin[n]), el("br"),
      bad.t.source[n] ? el("code", {}, bad.t.source[n]) : el("span", {class: "dim"}, "no source line")));
  const worst = run.partsOf("worst", i);
  for (const w of worst.rows) parts.push(el("h3", {}, "Worst element"),
    el("p", {}, el("code", {}, `${worst.t.output[w]}[${worst.t.index[w]}]`),
      ` got ${worst.t.got[w]}, want ${worst.t.want[w]}, Bound ${worst.t.bound[w]}`, worst.t.ulp[w] === null ? "" : `, ${short(worst.t.ulp[w])} ulp`));
  const gates = run.partsOf("gates", i);
  if (gates.rows.length) parts.push(el("h3", {}, "Gates"), table([
    {name: "gate", value: g => gates.t.gate[g]}, {name: "status", value: g => gates.t.status[g],
      show: g => el("span", {class: gates.t.status[g] === "fail" ? "fail" : null}, gates.t.status[g])},
    {name: "value", value: g => gates.t.value[g], number: true}, {name: "limit", value: g => gates.t.limit[g], number: true}],
  gates.rows, {search: false}));
  const fallbacks = run.partsOf("fallbacks", i);
  if (fallbacks.rows.length) parts.push(el("h3", {}, "Fallbacks"), table(fallbackColumns(fallbacks.t), fallbacks.rows));
  const nodes = run.partsOf("nodes", i);
  if (nodes.rows.length) parts.push(el("h3", {}, "Nodes"), table([
    {name: "node", value: n => nodes.t.name[n]}, {name: "operator", value: n => nodes.t.op[n]}, {name: "status", value: n => nodes.t.status[n]},
    {name: "margin", value: n => nodes.t.margin[n], show: n => margin(nodes.t.margin[n]), number: true}, {name: "dtype", value: n => nodes.t.dtype[n]},
    {name: "shape", value: n => `[${nodes.t.shape[n] ?? ""}]`}, {name: "worst element", value: n => nodes.t.worst[n]},
    {name: "fallback", value: n => nodes.t.fallback_reason[n]}, {name: "source", value: n => nodes.t.source[n]},
    {name: "module", value: n => nodes.t.module[n]}], nodes.rows));
  const facts = [["witness", c.witness[i]], ["whole case", seconds(micro(c.wall_us[i]))], ["prepare", seconds(micro(c.prepare_us[i]))],
    ["cold compile", seconds(micro(c.compile_us[i]))], ["first run", seconds(micro(c.first_us[i]))], ["steady", seconds(micro(c.steady_us[i]))],
    ["device time", seconds(micro(c.device_us[i]))], ["instructions", short(c.instructions[i])]];
  const device = run.partsOf("devices", i), compiles = run.partsOf("compiles", i), steady = run.partsOf("steady", i);
  for (const d of device.rows) facts.push(["cycles", short(device.t.cycles[d])], ["peak memory", bytes(device.t.peak_bytes[d])]);
  for (const k of compiles.rows) facts.push(["compiled", short(compiles.t.count[k])], ["from memory", short(compiles.t.hits_memory[k])],
    ["from disk", short(compiles.t.hits_disk[k])], ["misses", compiles.t.misses[k]],
    ["compile, warm disk", seconds(compiles.t.disk_warm_s[k])], ["compile, warm memory", seconds(compiles.t.memory_warm_s[k])]);
  if (steady.rows.length) facts.push(["every run", steady.rows.map(s => seconds(steady.t.seconds[s])).join(", ")]);
  if (c.same_as[i]) facts.push(["same graph as", c.same_as[i]]);
  if (c.weight[i] !== 1) facts.push(["stands for", plural(c.weight[i], "row")]);
  parts.push(el("p", {class: "facts"}, facts.filter(f => f[1] !== "").map(([name, value]) => el("span", {}, el("small", {}, name), " ", value))));
  if (reproOf(c, i)) parts.push(el("h3", {}, "Run this case alone"), el("pre", {}, reproOf(c, i)));
  if (!c.whole[i]) parts.push(el("p", {class: "dim"}, "A passing case of a large run: gates, worst element and counters are in results.jsonl."));
  parts.push(el("p", {}, caseLink(run, i, "link to this case")));
  return el("div", {}, parts);
}

function caseColumns(run, rows) {
  const c = run.c, any = test => rows.some(test);
  const columns = [
    {name: "case", value: i => c.id[i]}, {name: "mode", value: i => c.mode[i], word: true},
    {name: "status", value: i => c.status[i] + " " + c.reason[i], show: i => statusText(run, i)},
    {name: "margin", value: i => c.margin[i], show: i => margin(c.margin[i]), number: true, tip: "worst error divided by its Bound; at most 1"}];
  if (any(i => c.nodes_on_device[i] !== null && c.suite[i] !== "ops")) columns.push(
    {name: "on device (nodes)", value: i => c.nodes_on_device[i], show: i => percent(c.nodes_on_device[i]), number: true},
    {name: "(FLOPs)", value: i => c.flops_on_device[i], show: i => percent(c.flops_on_device[i]), number: true});
  if (any(i => run.fallbackCount(i) > 0) || rows.length < 500) columns.push({name: "fallbacks", value: i => run.fallbackCount(i), number: true});
  const time = (name, column, tip) => ({name, number: true, tip, value: i => c[column][i], show: i => seconds(micro(c[column][i]))});
  if (any(i => isNumber(c.compile_us[i]))) columns.push(time("cold compile", "compile_us", "compile time of the backend's own compiler"));
  columns.push(time("first run", "first_us"), time("steady", "steady_us", "median of the executions after the first; wall time of this machine"));
  if (any(i => c.instructions[i])) columns.push({name: "instructions", value: i => c.instructions[i], number: true});
  columns.push({name: "witness", value: i => c.witness[i], word: true});
  return columns;
}

// All cases of a run behind filters that are kept in the address: pages can be linked to.
class Explorer {
  constructor(run) {
    this.run = run;
    this.large = run.rows.length > 200 && run.isSingleOperators();
    this.state = {};
    this.place = el("div");
    this.node = el("div", {id: `cases-${run.number}`}, this.place);
    this.lower = null;
  }
  values(list) {
    return [...new Set(list)].sort();
  }
  matches() {
    const {run, state} = this, c = run.c;
    let text = () => true;
    if (state.q) {
      const q = state.q.toLowerCase();
      if (!this.lower) this.lower = run.rows.map(i => c.id[i].toLowerCase());
      if (q.includes("*")) {
        const glob = new RegExp("^" + q.split("*").map(s => s.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join(".*") + "$", "s");
        text = i => glob.test(this.lower[i]);
      } else {
        text = i => this.lower[i].includes(q) || c.detail[i].toLowerCase().includes(q);
      }
    }
    const wanted = [["family", run.family], ["op", run.op], ["dtype", run.dtype], ["mode", c.mode], ["reason", c.reason]].filter(w => state[w[0]]);
    const outcome = OUTCOMES.some(o => o[0] === state.outcome) ? state.outcome : "";
    return run.rows.filter(i => (!outcome || run.outcome[i] === outcome) && (!state.status || c.status[i] === state.status) &&
      (!state.case || (c.id[i] === state.case && (!state.mode || c.mode[i] === state.mode))) &&
      wanted.every(([name, column]) => column[i] === state[name]) && text(i));
  }
  set(change, {scroll = false, replace = false} = {}) {
    this.state = replace ? change : {...this.state, case: "", ...change};
    const hash = "#" + hashOf({run: this.run.number, ...this.state});
    if (location.hash !== hash) history.replaceState(null, "", hash === "#" ? location.pathname : hash);
    this.draw();
    if (scroll) this.node.scrollIntoView();
  }
  draw() {
    const {run, state} = this, c = run.c;
    const select = (name, label, values, show = words) => values.length < 2 ? null : el("select", {"aria-label": label,
      oninput: event => this.set({[name]: event.target.value})}, el("option", {value: ""}, `every ${label}`),
    values.map(v => el("option", {value: v, selected: state[name] === v ? "" : null}, show(v))));
    const grouped = state.view ? state.view === "groups" : this.large && !state.case && !state.q;
    const search = el("input", {type: "search", placeholder: "id or detail; * for a glob on ids", "aria-label": "search cases", value: state.q || ""});
    let timer = 0;
    search.oninput = () => { clearTimeout(timer); timer = setTimeout(() => { this.state.q = search.value; this.set({q: search.value}); }, 150); };
    const list = el("div");
    const controls = run.rows.length < 6 ? null : el("div", {class: "controls"}, search,
      select("outcome", "outcome", OUTCOMES.map(o => o[0]).filter(o => run.outcome.includes(o)), o => OUTCOMES.find(x => x[0] === o)[1]),
      select("status", "status", this.values(c.status)), select("reason", "reason", this.values(c.reason).filter(Boolean)),
      select("family", "family", this.values(run.family)),
      this.large ? select("op", "operator", this.values(state.family ? run.op.filter((_, i) => run.family[i] === state.family) : run.op), v => v) : null,
      this.large ? select("dtype", "dtype", [...DTYPES, ...OTHER_COLUMNS].filter(d => run.dtype.includes(d)), v => v) : null,
      select("mode", "mode", this.values(c.mode)),
      this.large ? el("button", {onclick: () => this.set({view: grouped ? "cases" : "groups"})}, grouped ? "every case" : "group by operator and dtype") : null,
      hashOf({...state, view: ""}) ? el("button", {onclick: () => this.set({}, {replace: true})}, "clear filters") : null);
    const focused = document.activeElement && document.activeElement.getAttribute("aria-label") === "search cases";
    this.place.replaceChildren(el("div", {}, controls, list));
    if (focused) { search.focus(); search.setSelectionRange(search.value.length, search.value.length); }
    const rows = this.matches();
    if (rows.length === 0) {
      list.append(el("p", {class: "dim"}, "No case fits these filters."));
    } else if (grouped) {
      list.append(this.groups(rows));
    } else {
      const shown = table(caseColumns(run, rows), rows, {detail: i => drillDown(run, i), search: false,
        note: rows.length === run.rows.length ? "" : `that fit, of ${short(run.rows.length)}`});
      list.append(shown);
      if (state.case) shown.open(rows[0]);
    }
  }
  // By operator and dtype; a click lists the group's cases.
  groups(rows) {
    const {run} = this, c = run.c, groups = new Map();
    for (const i of rows) {
      const key = run.family[i] + "\0" + run.op[i] + "\0" + run.dtype[i];
      const group = groups.get(key);
      if (group) group.rows.push(i); else groups.set(key, {family: run.family[i], op: run.op[i], dtype: run.dtype[i], rows: [i]});
    }
    const list = [...groups.values()];
    for (const g of list) {
      g.counts = run.count(g.rows);
      g.worst = run.worstOf(g.rows);
      g.wall = sum(g.rows, i => c.wall_us[i]) * 1e-6;
    }
    const number = (name, key) => ({name, number: true, value: g => g.counts[key], show: g => g.counts[key] ? el("span", {class: key}, short(g.counts[key])) : ""});
    const any = key => list.some(g => g.counts[key]);
    return table([
      {name: "operator", value: g => g.op}, {name: "family", value: g => g.family, word: true}, {name: "dtype", value: g => g.dtype, word: true},
      {name: "cases", value: g => g.rows.length, number: true},
      {name: "outcomes", value: g => g.counts.fail / g.rows.length, show: g => stack(partsOfCounts(g.counts)), tip: "sorts by the share that failed"},
      number("passed", "pass"), any("fallback") ? number("with fallback", "fallback") : null, any("waived") ? number("waived", "waived") : null,
      number("failed", "fail"), number("skipped", "skip"),
      {name: "worst margin", number: true, value: g => g.worst === null ? null : c.margin[g.worst],
        show: g => g.worst === null ? "" : el("span", {title: c.id[g.worst]}, caseLink(run, g.worst, margin(c.margin[g.worst])))},
      {name: "time", number: true, value: g => g.wall, show: g => seconds(g.wall)}].filter(Boolean), list,
    {search: false, detail: g => table([
      {name: "case", value: i => c.id[i]}, {name: "mode", value: i => c.mode[i], word: true},
      {name: "status", value: i => c.status[i] + " " + c.reason[i], show: i => statusText(run, i)},
      {name: "margin", value: i => c.margin[i], show: i => margin(c.margin[i]), number: true},
      {name: "detail", value: i => c.detail[i]},
      {name: "time", value: i => c.wall_us[i], show: i => seconds(micro(c.wall_us[i])), number: true}],
    g.rows, {detail: i => drillDown(run, i), size: 50}), note: `of operator and dtype, ${short(rows.length)} cases`});
  }
}
