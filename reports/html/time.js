// Where the time went, by what the records say.

const PHASES = [["prepare", "prepare", "the backend plans and uploads"], ["compile", "compile", "the backend's own compiler"],
  ["first", "first run", "on the device, without what the host did for it"], ["host", "fallbacks", "nodes that the host ran, and copies for them"],
  ["repeats", "repeats", "executions after the first"], ["judge", "judging", "value and Bound of the reference, and comparing; with the pipe to the judge"],
  ["rest", "rest", "drawing inputs, the pipe to the worker and its local pass: the rest of a case's wall time, which records do not split"]];

function ledgerOf(run, rows) {
  const c = run.c, out = {wall: 0, prepare: 0, compile: 0, first: 0, host: 0, repeats: 0, judge: 0, rest: 0, device: 0, cases: 0};
  for (const i of rows) {
    if (c.same_as[i]) continue;  // a copy of another case's record: nothing ran
    const fallbacks = run.partsOf("fallbacks", i);
    const host = Math.min(sum(fallbacks.rows, f => fallbacks.t.seconds[f]), micro(c.first_us[i]) || 0);
    const part = {prepare: micro(c.prepare_us[i]) || 0, compile: micro(c.compile_us[i]) || 0,
      first: (micro(c.first_us[i]) || 0) - host, host, repeats: micro(c.repeats_us[i]) || 0, judge: micro(c.judge_us[i]) || 0};
    for (const [name, value] of Object.entries(part)) out[name] += value;
    out.wall += micro(c.wall_us[i]);
    out.rest += Math.max(0, micro(c.wall_us[i]) - sum(Object.values(part), x => x));
    out.device += micro(c.device_us[i]) || 0;
    out.cases++;
  }
  return out;
}
const phaseStack = l => stack(PHASES.map(([key, name]) => ["phase-" + key, l[key], `s ${name}`]), 0, 0);

function timeLedger(run, explorer) {
  const total = ledgerOf(run, run.rows);
  if (!total.wall) return [];
  const families = new Set(run.family), by = families.size > 1 ? run.family : run.op, groups = new Map();
  for (const i of run.rows) groups.has(by[i]) ? groups.get(by[i]).push(i) : groups.set(by[i], [i]);
  const list = [...groups].map(([name, rows]) => ({name, ...ledgerOf(run, rows)})).filter(l => l.wall > 0);
  const most = Math.max(...list.map(l => l.wall));
  const elapsed = (Date.parse(run.facts.ended) - Date.parse(run.facts.started)) / 1000;
  const text = el("p", {class: "dim"}, `${seconds(total.wall)} in ${plural(total.cases, "case")}, summed over workers`,
    Number.isFinite(elapsed) && elapsed > 0 ? `; the run took ${seconds(elapsed)}, ${short(total.cases / elapsed)} cases a second` : "",
    total.device ? `; ${seconds(total.device)} of device time (simulated)` : "", ".");
  const legend = el("p", {class: "legend"}, PHASES.map(([key, name, tip]) => el("span", {title: tip}, el("i", {class: "fill-phase-" + key}),
    `${name} ${seconds(total[key])} (${percent(total[key] / total.wall)})`)));
  const time = (name, key) => ({name, number: true, value: l => l[key], show: l => l[key] ? seconds(l[key]) : ""});
  return [el("h2", {}, "Where the time went"), text, phaseStack(total), legend, table([
    {name: by === run.op ? "case" : "family", value: l => l.name, word: true,
      show: l => el("a", {href: "#" + hashOf({run: run.number, [by === run.op ? "op" : "family"]: l.name})}, l.name)},
    {name: "cases", value: l => l.cases, number: true}, time("in all", "wall"),
    {name: "share", value: l => l.wall, show: l => el("div", {style: `width:${Math.max(2, 100 * l.wall / most)}%`}, phaseStack(l)), tip: "the length: time; the colours: on what"},
    {name: "a case", number: true, value: l => l.wall / l.cases, show: l => seconds(l.wall / l.cases)},
    ...PHASES.map(([key, name, tip]) => ({...time(name, key), tip}))], list, {sort: [2, true], size: 25, search: list.length > 25})];
}
