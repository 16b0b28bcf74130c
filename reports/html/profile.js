// Draws a profile.
const profile = data.profile, summary = profile.summary;
const LIMITS = [["compute", "phase-first", "compute"], ["data_movement", "phase-prepare", "data movement"],
  ["communication", "phase-compile", "communication"], ["host", "phase-host", "host"]];
const share = x => percent(profile.total_time > 0 ? x / profile.total_time : 0);
const rate = x => isNumber(x) ? short(x / 1e12) + " TFLOP/s" : "";

page.append(
  el("h1", {}, data.title),
  el("p", {class: "meta"}, data.backend, ". Times are simulated; those of fallbacks are measured on the host."),
  el("div", {class: "tiles"},
    el("div", {class: "tile"}, el("b", {}, seconds(profile.total_time)), "one execution"),
    el("div", {class: "tile"}, el("b", {}, words(profile.limit)), "limits it"),
    el("div", {class: "tile" + (profile.bottleneck === "none" ? "" : " fail")}, el("b", {}, words(profile.bottleneck)), "most to gain"),
    el("div", {class: "tile"}, el("b", {}, short(summary.mfu_estimated_percent) + " %"), "of peak FLOP/s ", el("small", {},
      `${short(summary.model_flops)} FLOP of products; peak ${rate(summary.peak_flops)}`)),
    el("div", {class: "tile"}, el("b", {}, short(summary.mbu_estimated_percent) + " %"), "of HBM bandwidth ", el("small", {},
      `${bytes(summary.hbm_read_bytes + summary.hbm_write_bytes)}; ${short(summary.hbm_bandwidth / 1e9)} GB/s`))),
  el("p", {}, profile.sentence),
  el("h2", {}, "Where the time went"),
  stack(LIMITS.map(([key, fill, name]) => [fill, 1000 * profile.limits[key] / profile.total_time, `‰ ${name}`]), 0, 0),
  el("p", {class: "legend"}, LIMITS.map(([key, fill, name]) => el("span", {}, el("i", {class: "fill-" + fill}),
    `${name} ${seconds(profile.limits[key])} (${share(profile.limits[key])})`))));

const timesOf = (title, object, name, tip) => {
  const rows = Object.entries(object).filter(([, x]) => x > 0);
  if (rows.length === 0) return [];
  return [el("h2", {}, title), el("p", {class: "dim"}, tip), table([
    {name, value: r => words(r[0]), word: true}, {name: "time", number: true, value: r => r[1], show: r => seconds(r[1])},
    {name: "share", number: true, value: r => r[1], show: r => share(r[1])}], rows, {sort: [1, true]})];
};
page.append(...timesOf("Why", profile.causes, "cause", "Every second of the critical path has one cause."));

// The roofline: operations for each byte of HBM against the rate that was reached.
function roofline() {
  const peak = summary.peak_flops, bandwidth = summary.hbm_bandwidth;
  const nodes = profile.nodes.filter(n => n.flops > 0 && n.hbm_bytes > 0 && n.active_seconds > 0);
  if (!peak || !bandwidth || nodes.length === 0) return null;
  const points = nodes.map(n => ({x: n.flops / n.hbm_bytes, y: n.flops / n.active_seconds, node: n}));
  const low = Math.min(0.05, ...points.map(p => p.x)), high = Math.max(4 * peak / bandwidth, ...points.map(p => p.x));
  const roof = [low, peak / bandwidth, high].map(x => ({x, y: Math.min(peak, x * bandwidth)}));
  const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  return chart("Roofline (log scales): a point is a node, the line what the core can do", {type: "scatter",
    data: {datasets: [
      {label: "nodes", data: points, backgroundColor: css("--accent"), pointRadius: 4},
      {label: `roof: ${rate(peak)}, ${short(bandwidth / 1e9)} GB/s`, data: roof, type: "line", showLine: true, pointRadius: 0, borderColor: css("--fail"), borderWidth: 2}]},
    options: {scales: {x: {type: "logarithmic", title: {display: true, text: "FLOP for each byte of HBM"}},
      y: {type: "logarithmic", title: {display: true, text: "FLOP/s reached"}}},
      plugins: {tooltip: {callbacks: {label: c => c.raw.node ? `${c.raw.node.node} ${c.raw.node.op}: ${rate(c.raw.y)}, ${short(c.raw.x)} FLOP/byte` : ""}}}}});
}
const roof = roofline();
if (roof) page.append(el("h2", {}, "Roofline"), el("div", {class: "charts"}, roof));

page.append(el("h2", {}, "Top costs"), table([
  {name: "node", value: n => n.node || "(start)"}, {name: "operator", value: n => n.op, word: true},
  {name: "time", number: true, value: n => n.seconds, show: n => seconds(n.seconds), tip: "on the critical path"},
  {name: "share", number: true, value: n => n.seconds, show: n => share(n.seconds)},
  {name: "mostly", value: n => words(n.cause), word: true},
  {name: "FLOP", number: true, value: n => n.flops}, {name: "HBM", number: true, value: n => n.hbm_bytes, show: n => bytes(n.hbm_bytes)},
  {name: "source", value: n => n.source}], profile.nodes, {sort: [2, true], size: 25}));
page.append(...timesOf("Idle engines", profile.waiting, "who waited for whom",
  "Time in which an engine waited for a semaphore, by who raised it; engines wait side by side, so that these do not add up."));
page.append(el("h2", {}, "Summary"), table([
  {name: "field", value: r => r[0], word: true}, {name: "value", number: true, value: r => r[1]}],
  Object.entries(summary), {size: 100}));
