// A table that sorts, filters and turns its pages: only the rows of one page are in the document.
// columns: {name, value(row), show(row)?, number?, word?, tip?}.
// detail(row): node shown below a clicked row. filter: {name, value(row)}: a selection above the table.
// sort: [index of a column, descending]. search: a box above the table (default: where there are many rows).
function table(columns, rows, {detail, filter, sort, search = rows.length > 8, size = 100, note} = {}) {
  let order = sort ? sort[0] : null, descending = sort ? sort[1] : false, needle = "", picked = "", at = 0;
  let shown = [];
  const body = el("tbody");
  const head = el("tr", {}, columns.map((column, i) => el("th", {
    class: column.number ? "number" : null, title: column.tip, scope: "col", tabindex: 0,
    onkeydown: event => { if (event.key === "Enter") event.currentTarget.click(); },
    onclick: () => {
      descending = order === i ? !descending : !!column.number;
      order = i;
      choose();
    }}, column.name)));
  const count = el("span", {class: "dim"});
  const pager = el("span", {class: "pager"});

  function rowOf(row) {
    const tr = el("tr", {class: detail ? "row" : null}, columns.map(c =>
      el("td", {class: c.number ? "number" : c.word ? "word" : "text"}, c.show ? c.show(row) : short(c.value(row)))));
    if (detail) tr.onclick = event => {
      if (event && event.target.closest && event.target.closest("a")) return;
      if (tr.nextSibling && tr.nextSibling.className === "detail") tr.nextSibling.remove();
      else tr.after(el("tr", {class: "detail"}, el("td", {colspan: columns.length}, detail(row))));
    };
    return tr;
  }
  function draw() {
    body.replaceChildren(...shown.slice(at, at + size).map(rowOf));
    const of = shown.length === rows.length ? plural(rows.length, "row") : `${short(shown.length)} of ${plural(rows.length, "row")}`;
    count.textContent = note ? `${of} ${note}` : of;
    const last = Math.max(0, Math.floor((shown.length - 1) / size) * size);
    const turn = (text, to, label) => el("button", {disabled: to === at ? "" : null, "aria-label": label,
      onclick: () => { at = to; draw(); }}, text);
    pager.replaceChildren(...(last === 0 ? [] : [turn("«", 0, "first page"), turn("‹", Math.max(0, at - size), "page before"),
      ` ${short(at + 1)}–${short(Math.min(at + size, shown.length))} `,
      turn("›", Math.min(last, at + size), "next page"), turn("»", last, "last page")]));
  }
  function choose() {
    [...head.children].forEach((th, i) => i === order ? th.setAttribute("aria-sort", descending ? "descending" : "ascending")
      : th.removeAttribute("aria-sort"));
    shown = picked || needle ? rows.filter(row => (!picked || filter.value(row) === picked) &&
      (!needle || columns.some(c => String(c.value(row) ?? "").toLowerCase().includes(needle)))) : rows;
    if (order !== null) {
      const keyed = shown.map(row => [sortable(columns[order].value(row)), row]);
      keyed.sort((a, b) => descending ? ordered(b[0], a[0]) : ordered(a[0], b[0]));
      shown = keyed.map(pair => pair[1]);
    }
    at = 0;
    draw();
  }
  const controls = el("div", {class: "controls"});
  if (search) {
    controls.append(el("input", {type: "search", placeholder: "search this table", "aria-label": "search this table",
      oninput: event => { needle = event.target.value.toLowerCase(); choose(); }}));
  }
  if (filter) {
    const values = [...new Set(rows.map(filter.value))].sort();
    if (values.length > 1) controls.append(el("select", {"aria-label": filter.name,
      oninput: event => { picked = event.target.value; choose(); }},
    el("option", {value: ""}, `all ${filter.name}`), values.map(v => el("option", {value: v}, words(v)))));
  }
  controls.append(count, pager);
  choose();
  const node = el("div", {}, rows.length > 3 || filter || note ? controls : null,
    el("div", {class: "scroll"}, el("table", {}, el("thead", {}, head), body)));
  // Shows the page with this row and opens its detail.
  node.open = row => {
    const place = shown.indexOf(row);
    if (place < 0) return;
    at = Math.floor(place / size) * size;
    draw();
    const tr = body.children[place - at];
    if (detail && !(tr.nextSibling && tr.nextSibling.className === "detail")) tr.onclick();
    tr.classList.add("picked");
    queueMicrotask(() => tr.scrollIntoView({block: "center"}));
  };
  return node;
}
