"use strict";
// Draws a comparison. Every text goes in through textContent.
const data = JSON.parse(document.getElementById("data").textContent);
const page = document.getElementById("page");

function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) if (value) node.setAttribute(name, value);
  for (const child of children.flat()) {
    if (child !== null && child !== undefined) node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}
function table(names, rows) {
  return el("div", {class: "scroll"}, el("table", {}, el("thead", {}, el("tr", {}, names.map(n => el("th", {scope: "col"}, n)))),
    el("tbody", {}, rows.map(cells => el("tr", {}, cells.map(c => el("td", {class: "text"}, c)))))));
}

const regressions = data.differences.filter(d => d.regression);
const others = data.differences.filter(d => !d.regression);
const verdict = data.exit_status === 0 ? "No regression" : data.exit_status === 3 ? "Nothing to compare" : "Regression";
page.append(
  el("h1", {class: data.exit_status === 0 ? "pass" : "fail"}, verdict),
  el("p", {class: "meta"}, `base ${data.base.backend}, ${data.base.records} records `, el("code", {}, data.base.path), el("br"),
    `current ${data.current.backend}, ${data.current.records} records `, el("code", {}, data.current.path)),
  el("div", {class: "tiles"},
    el("div", {class: "tile fail"}, el("b", {}, regressions.length), "regressions"),
    el("div", {class: "tile"}, el("b", {}, others.length), "other changes"),
    el("div", {class: "tile"}, el("b", {}, data.unchanged), "unchanged"),
    el("div", {class: "tile skip"}, el("b", {}, data.waivers.length), "expired or stale waivers")));
function differences(title, list) {
  if (list.length === 0) return;
  page.append(el("h2", {}, title), table(["change", "case", "mode", "base", "current", "detail", "repro"],
    list.map(d => [d.change, d.id, d.mode, d.base || "absent", d.current || "absent", d.detail, el("code", {}, d.repro)])));
}
differences("Regressions", regressions);
differences("Other changes", others);
if (data.waivers.length) page.append(el("h2", {}, "Waivers to mend"), table(["what", "case", "backend", "owner", "bug", "expires"],
  data.waivers.map(w => [w.expired ? "expired" : "stale: covers no failure", w.case, w.backend, w.owner, w.bug, w.expires])));
