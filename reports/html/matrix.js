// Families of operators by dtype, as a heat map.

const MATRIX_VIEWS = [
  ["outcomes", "outcomes", "cases; ✗ failed, ⇄ passed with fallback, ↷ skipped, w waived"],
  ["margins", "worst margins", "largest error ÷ Bound of the cell; above 1 fails"],
  ["time", "time", "mean time of a case, all of it: preparing, running, judging"],
];

function outcomeCell(counts, total) {
  const share = key => counts[key] / total;
  const tint = counts.fail ? `rgb(var(--fail-rgb) / ${0.18 + 0.6 * share("fail")})`
    : counts.skip === total ? "rgb(var(--skip-rgb) / 0.25)"
      : counts.fallback + counts.waived ? `rgb(var(--fallback-rgb) / ${0.15 + 0.5 * (share("fallback") + share("waived"))})`
        : `rgb(var(--pass-rgb) / ${0.16 + 0.34 * share("pass")})`;
  const mark = (key, sign) => counts[key] ? el("small", {class: key}, sign + short(counts[key]) + " ") : null;
  return {tint, content: [el("b", {}, short(total)), el("span", {}, mark("fail", "✗"), mark("fallback", "⇄"), mark("skip", "↷"), mark("waived", "w"))],
    title: OUTCOMES.filter(o => counts[o[0]]).map(o => `${short(counts[o[0]])} ${o[1]}`).join(", ")};
}
function marginCell(run, rows) {
  const worst = run.worstOf(rows);
  if (worst === null) return {tint: "transparent", content: [el("span", {class: "dim"}, "·")], title: "not judged"};
  const m = run.c.margin[worst], size = m === "inf" || m === "nan" ? Infinity : m;
  return {tint: size > 1 ? "rgb(var(--fail-rgb) / 0.55)" : `rgb(var(--fallback-rgb) / ${0.04 + 0.5 * size ** 2})`,
    content: [el("b", {}, m === 0 ? "exact" : margin(m))], title: `${m} ${run.c.id[worst]}`};
}
function timeCell(run, rows, scale) {
  const mean = sum(rows, i => run.c.wall_us[i]) / rows.length;
  return {tint: `rgb(var(--skip-rgb) / ${0.05 + 0.6 * Math.min(1, mean / scale)})`, content: [el("b", {}, seconds(micro(mean)))],
    title: `${seconds(micro(mean))} a case, ${seconds(micro(mean * rows.length))} in all`};
}

function matrix(run, explorer) {
  const cells = new Map(), families = new Map();
  const into = (map, key, i) => map.has(key) ? map.get(key).push(i) : map.set(key, [i]);
  for (const i of run.rows) {
    into(families, run.family[i], i);
    into(cells, run.family[i] + "\0" + run.dtype[i], i);
    into(cells, run.family[i] + "\0" + run.op[i] + "\0" + run.dtype[i], i);
  }
  const columns = [...DTYPES, ...OTHER_COLUMNS].filter(d => [...families.keys()].some(f => cells.has(f + "\0" + d)));
  const means = [...families.keys()].flatMap(f => columns.map(d => cells.get(f + "\0" + d)).filter(Boolean))
    .map(rows => sum(rows, i => run.c.wall_us[i]) / rows.length).sort((a, b) => a - b);
  const scale = means[Math.floor(0.95 * (means.length - 1))] || 1;
  let view = "outcomes";
  const opened = new Set(), body = el("tbody"), legend = el("span", {class: "dim"});

  function cell(rows, where) {
    if (!rows) return el("td", {class: "cell"});
    const counts = run.count(rows);
    const {tint, content, title} = view === "outcomes" ? outcomeCell(counts, rows.length)
      : view === "margins" ? marginCell(run, rows) : timeCell(run, rows, scale);
    return el("td", {class: "cell full", style: "background:" + tint, tabindex: 0,
      title: `${where.op || where.family} ${where.dtype || ""}: ${title}`,
      onkeydown: event => { if (event.key === "Enter") event.currentTarget.click(); },
      onclick: () => explorer.set({...where, view: where.op && where.dtype ? "cases" : "groups"}, {scroll: true, replace: true})}, content);
  }
  function line(name, key, rows, where, toggle) {
    return el("tr", {class: toggle ? "family" : "operator"}, el("th", {scope: "row", onclick: toggle, tabindex: toggle ? 0 : null,
      onkeydown: event => { if (toggle && event.key === "Enter") toggle(); },
      "aria-expanded": toggle ? String(opened.has(name)) : null}, name),
    cell(rows, where), columns.map(d => cell(cells.get(key + "\0" + d), {...where, dtype: d})));
  }
  function draw() {
    legend.textContent = MATRIX_VIEWS.find(v => v[0] === view)[2] + ". A click on a cell lists its cases, one on a family its operators.";
    body.replaceChildren(...[...families.keys()].sort().flatMap(family => {
      const rows = families.get(family);
      const lines = [line(family, family, rows, {family}, () => { opened.has(family) ? opened.delete(family) : opened.add(family); draw(); })];
      if (opened.has(family)) {
        const ops = new Map();
        for (const i of rows) into(ops, run.op[i], i);
        for (const op of [...ops.keys()].sort()) lines.push(line(op, family + "\0" + op, ops.get(op), {family, op}, null));
      }
      return lines;
    }));
  }
  const picker = el("select", {"aria-label": "what the map shows", oninput: event => { view = event.target.value; draw(); }},
    MATRIX_VIEWS.map(v => el("option", {value: v[0]}, v[1])));
  draw();
  return el("div", {}, el("div", {class: "controls"}, picker, legend), el("div", {class: "scroll"}, el("table", {class: "matrix"},
    el("thead", {}, el("tr", {}, el("th", {}, ""), el("th", {scope: "col"}, "all"),
      columns.map(d => el("th", {scope: "col", title: COLUMN_TIPS[d]}, d.replace("_", " "))))), body)));
}
