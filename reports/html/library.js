"use strict";
// What every page uses: elements, texts of numbers, packed tables. Every text goes in through textContent:
// names of models, nodes and files are hostile.
const data = JSON.parse(document.getElementById("data").textContent);
const page = document.getElementById("page");

function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) node[name] = value;
    else if (value !== undefined && value !== null && value !== false) node.setAttribute(name, value);
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
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
function ordered(x, y) {
  if (typeof x === "number" && typeof y === "number") return x === y ? 0 : x < y ? -1 : 1;
  const a = String(x), b = String(y);
  return a < b ? -1 : a > b ? 1 : 0;
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
  if (x === 0) return "0";
  if (x < 1e-3) return (x * 1e6).toFixed(x < 1e-5 ? 1 : 0) + " µs";
  if (x < 1) return (x * 1e3).toFixed(x < 0.01 ? 2 : 1) + " ms";
  return x < 120 ? x.toFixed(2) + " s" : (x / 60).toFixed(1) + " min";
}
// Never rounded up to 1: below 1 passes.
function margin(x) {
  if (!isNumber(x)) return short(x);
  if (x > 1 && x < 1.005) return (Math.ceil(x * 1e5) / 1e5).toFixed(5);
  return x < 1 && x > 0.9995 ? (Math.floor(x * 1e5) / 1e5).toFixed(5) : short(x);
}
// Never rounded up to all of it, nor down to nothing.
function percent(x) {
  if (!isNumber(x)) return "";
  if (x === 0 || x === 1) return 100 * x + " %";
  return Math.min(99.9, Math.max(0.1, 100 * x)).toFixed(1) + " %";
}
function bytes(x) {
  if (!isNumber(x)) return "";
  for (const unit of ["B", "KiB", "MiB", "GiB"]) {
    if (x < 1024 || unit === "GiB") return (unit === "B" ? x : x.toFixed(1)) + " " + unit;
    x /= 1024;
  }
}
const sum = (list, value) => list.reduce((total, x) => total + value(x), 0);
const plural = (n, one, many = one + "s") => `${short(n)} ${n === 1 ? one : many}`;
const words = text => String(text).replaceAll("_", " ");

// reports/packed_table.h describes the four forms.
function unpackColumn(column, rows) {
  if (column.values) return column.values;
  const out = new Array(rows);
  if (column.of) {
    let row = 0;
    for (let i = 0; i < column.runs.length; i += 2) {
      const cell = column.of[column.runs[i]];
      for (let n = column.runs[i + 1]; n > 0; n--) out[row++] = cell;
    }
  } else if (column.rest) {
    let before = "";
    for (let i = 0; i < rows; i++) out[i] = before = before.slice(0, column.shared[i]) + column.rest[i];
  } else {
    let before = 0;
    for (let i = 0; i < rows; i++) out[i] = before += column.steps[i];
  }
  return out;
}
// {rows, NAME: [cells]}; a column is unpacked when it is first asked for.
function unpack(packed) {
  const out = {rows: packed.rows};
  for (const [name, column] of Object.entries(packed.columns)) {
    Object.defineProperty(out, name, {configurable: true, get() {
      const cells = unpackColumn(column, packed.rows);
      Object.defineProperty(out, name, {value: cells});
      return cells;
    }});
  }
  return out;
}
const reproOf = (t, i) => t.repro_after[i] === null ? t.repro_before[i] : t.repro_before[i] + t.id[i] + t.repro_after[i];
const upTo = n => Array.from({length: n}, (_, i) => i);

// Counts by outcome, never merged: a stacked bar. parts: [[class, count, title]]. least: pixels that the smallest
// part has, so that one failure of thousands is seen.
function stack(parts, whole, least = 3) {
  const total = whole || sum(parts, p => p[1]);
  return el("div", {class: "bar", role: "img", "aria-label": parts.map(p => `${p[1]} ${p[2]}`).join(", ")},
    parts.filter(p => p[1] > 0).map(p => el("i", {class: "fill-" + p[0], title: `${short(p[1])} ${p[2]}`,
      style: `flex-grow:${p[1]};min-width:${p[1] / total < 0.004 ? least : 0}px`})));
}

// For pages with the charts' library.
function chart(title, config) {
  const canvas = el("canvas", {role: "img", "aria-label": title});
  const holder = el("div", {class: "chart"}, el("b", {}, title), el("div", {}, canvas));
  const color = getComputedStyle(document.documentElement).getPropertyValue("--dim").trim();
  Chart.defaults.color = color;
  queueMicrotask(() => new Chart(canvas, {...config, options: {animation: false, maintainAspectRatio: false, ...config.options}}));
  return holder;
}
