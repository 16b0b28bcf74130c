// Draws a comparison.
const changes = unpack(data.differences), all = upTo(changes.rows);
const regressions = all.filter(i => changes.regression[i]), others = all.filter(i => !changes.regression[i]);
const verdict = data.exit_status === 0 ? "No regression" : data.exit_status === 3 ? "Nothing to compare" : "Regression";
const changeNames = [...new Set(changes.change)];
const changeClass = i => changes.regression[i] ? "fail" : changes.change[i] === "fixed" || changes.change[i] === "added" ? "pass" : "skip";
const changed = name => all.filter(i => changes.change[i] === name);

page.append(
  el("h1", {class: data.exit_status === 0 ? "pass" : "fail"}, verdict),
  el("p", {class: "meta"}, `base ${data.base.backend}, ${plural(data.base.records, "record")} `, el("code", {}, data.base.path), el("br"),
    `current ${data.current.backend}, ${plural(data.current.records, "record")} `, el("code", {}, data.current.path)),
  el("div", {class: "tiles"},
    el("div", {class: "tile fail"}, el("b", {}, short(regressions.length)), "regressions"),
    el("div", {class: "tile"}, el("b", {}, short(others.length)), "other changes"),
    el("div", {class: "tile"}, el("b", {}, short(data.unchanged)), "unchanged"),
    el("div", {class: "tile skip"}, el("b", {}, short(data.waivers.length)), "expired or stale waivers")),
  stack([["phase-rest", data.unchanged, "unchanged"], ["fallback", others.length, "other changes"], ["fail", regressions.length, "regressions"]]),
  el("p", {class: "legend"}, changeNames.map(name => el("span", {class: changeClass(changed(name)[0])}, `${words(name)} ${short(changed(name).length)}`))));

// From which status to which: a heat map of what changed.
function transitions() {
  const cells = new Map(), name = text => text || "absent";
  for (const i of all) {
    const key = name(changes.base[i]) + "\0" + name(changes.current[i]);
    cells.has(key) ? cells.get(key).push(i) : cells.set(key, [i]);
  }
  const rows = [...new Set(changes.base.map(name))].sort(), columns = [...new Set(changes.current.map(name))].sort();
  return el("div", {class: "scroll"}, el("table", {class: "matrix"},
    el("thead", {}, el("tr", {}, el("th", {}, "base ↓  current →"), columns.map(c => el("th", {scope: "col"}, c)))),
    el("tbody", {}, rows.map(r => el("tr", {}, el("th", {scope: "row"}, r), columns.map(c => {
      const list = cells.get(r + "\0" + c);
      if (!list) return el("td", {class: "cell"});
      const kind = changeClass(list[0]);
      return el("td", {class: "cell", style: `background:rgb(var(--${kind}-rgb) / ${0.2 + 0.12 * Math.log10(list.length)})`,
        title: [...new Set(list.map(i => words(changes.change[i])))].join(", ")}, el("b", {}, short(list.length)));
    }))))));
}
function differences(title, list) {
  if (list.length === 0) return;
  page.append(el("h2", {}, title), table([
    {name: "change", value: i => changes.change[i], show: i => el("span", {class: changeClass(i)}, words(changes.change[i])), word: true},
    {name: "case", value: i => changes.id[i]}, {name: "mode", value: i => changes.mode[i], word: true},
    {name: "base", value: i => changes.base[i] || "absent", word: true}, {name: "current", value: i => changes.current[i] || "absent", word: true},
    {name: "detail", value: i => changes.detail[i]}], list, {filter: {name: "changes", value: i => changes.change[i]}, size: 50,
    detail: i => el("div", {}, el("p", {}, changes.detail[i]), el("h3", {}, "Run this case alone"), el("pre", {}, reproOf(changes, i)))}));
}
if (data.waivers.length) page.append(el("h2", {}, "Waivers to mend"), table([
  {name: "what", value: w => w.expired ? "expired" : "stale: covers no failure"}, {name: "case", value: w => w.case},
  {name: "backend", value: w => w.backend}, {name: "owner", value: w => w.owner}, {name: "bug", value: w => w.bug},
  {name: "expires", value: w => w.expires}], data.waivers));
if (all.length > 1) page.append(el("h2", {}, "From which status to which"), transitions());
differences("Regressions", regressions);
differences("Other changes", others);
