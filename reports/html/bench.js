// What the pages of benches share.
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const COLORS = [css("--accent"), css("--fail"), css("--pass"), css("--skip"), "#8fb4e8", "#d8bd72", "#9b7fc7", "#5fa8a0"];

// lines: [{label, points: [[x, y]], dashed?}]. x and y: {name, log?, show?(value), min?, max?}.
function lines(title, list, x, y) {
  const scale = axis => ({type: axis.log ? "logarithmic" : "linear", min: axis.min, max: axis.max, title: {display: true, text: axis.name},
    ticks: axis.show ? {callback: v => axis.show(v)} : {}});
  return chart(title, {type: "line",
    data: {datasets: list.map(({label, points, dashed}, i) => ({label, data: points.map(([a, b]) => ({x: a, y: b})),
      borderColor: COLORS[i % COLORS.length], backgroundColor: COLORS[i % COLORS.length], borderWidth: 2,
      borderDash: dashed ? [5, 4] : [], pointRadius: points.length > 40 ? 0 : 3}))},
    options: {scales: {x: scale(x), y: scale(y)}}});
}
const section = (title, note, ...nodes) => [el("h2", {}, title), ...(note ? [el("p", {class: "dim"}, note)] : []), ...nodes];
// Ticks of a logarithmic axis.
const decades = show => v => /^10*$/.test(String(v)) ? show(v) : "", ticks = show => v => /^[125]0*$/.test(String(v)) ? show(v) : "";
const tile = (value, text, small) => el("div", {class: "tile"}, el("b", {}, value), text, small ? el("small", {}, " " + small) : null);
// A column that shows a number of the row: the number itself, seconds, a share, bytes.
const numeric = (name, value, show, tip) => ({name, number: true, value, show: show ? r => show(value(r)) : undefined, tip});
const worded = (name, value, tip) => ({name, word: true, value, tip});
