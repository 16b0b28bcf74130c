// Draws what `assay bench recall` measured.
const task = data.task, trained = data.models.filter(m => !m.failure), longest = Math.max(...task.lengths);
const cellOf = (m, pairs, length) => m.recall.find(c => c.pairs === pairs && c.length === length);
const right = c => c ? percent(c.accuracy) : "";
const most = Math.max(...task.pairs);

page.append(
  el("h1", {}, "Associative recall"),
  el("p", {class: "meta"}, `${data.backend}, ${data.mode}. Sequences show pairs of one of ${task.keys} keys and one of ${task.values} values, then ask `
    + `${task.queries} times for the value of a key that they showed. Models of one layer learned it in ${plural(data.steps, "step")} of ${task.batch} sequences; `
    + `they were then asked with sequences that they had never seen. ${percent(1 / task.values)} is chance.`),
  el("div", {class: "tiles"}, trained.map(m => tile(right(cellOf(m, most, longest)), `${m.id}, ${most} pairs`,
    `${bytes(cellOf(m, most, longest).memory_bytes)} for ${longest} symbols`))));

for (const m of data.models.filter(m => m.failure)) page.append(el("p", {class: "fail"}, `${m.id}: ${m.failure}`));

if (trained.length) {
  // Noise of single batches hides the curve.
  const smooth = list => list.map((_, i) => { const part = list.slice(Math.max(0, i - 9), i + 1); return [i + 1, sum(part, v => v) / part.length]; });
  page.append(el("div", {class: "charts"},
    lines(`Right answers by number of pairs, sequences of ${longest} symbols`,
      trained.map(m => ({label: m.id, points: task.pairs.map(p => [p, 100 * cellOf(m, p, longest).accuracy])})),
      {name: "pairs"}, {name: "right, %", min: 0, max: 100}),
    lines(`Right answers by length, ${most} pairs`,
      trained.map(m => ({label: m.id, points: task.lengths.map(l => [l, cellOf(m, most, l)]).filter(p => p[1]).map(([l, c]) => [l, 100 * c.accuracy])})),
      {name: "symbols of a sequence"}, {name: "right, %", min: 0, max: 100}),
    lines("What one layer remembers of a sequence (log scale)",
      trained.map(m => ({label: m.id, points: task.lengths.map(l => [l, cellOf(m, task.pairs[0], l).memory_bytes])})),
      {name: "symbols of a sequence"}, {name: "bytes", log: true, show: ticks(bytes)}),
    lines("Loss while training, mean of ten steps", trained.map(m => ({label: m.id, points: smooth(m.losses)})),
      {name: "step"}, {name: "loss", min: 0})));
  const rows = trained.flatMap(m => task.lengths.map(length => ({m, length})));
  page.append(...section("Right answers", "A state of fixed size holds what it can of any sequence; keys and values of all symbols hold everything and grow.", table([
    worded("model", r => r.m.id), worded("attention", r => r.m.attention), numeric("parameters", r => r.m.parameters),
    numeric("length", r => r.length), numeric("memory", r => cellOf(r.m, task.pairs[0], r.length).memory_bytes, bytes, "of one sequence"),
    ...task.pairs.map(p => ({name: plural(p, "pair"), number: true, value: r => (cellOf(r.m, p, r.length) || {}).accuracy, show: r => right(cellOf(r.m, p, r.length))})),
    numeric("last loss", r => r.m.losses[r.m.losses.length - 1]), numeric("training", r => r.m.training_s, seconds, "wall time")], rows, {size: 100})));
}
