// Draws what `assay bench laplace` computed.
const possible = list => list.filter(r => !r.not_possible), rate = x => isNumber(x) ? short(x < 1000 ? +x.toPrecision(3) : Math.round(x)) : "";
const signed = x => isNumber(x) ? (x > 0 ? "+" : "") + (100 * x).toFixed(1) + " %" : "";
const isShare = r => /^gain/.test(r.figure), figure = r => x => isShare(r) ? signed(x) : rate(x);
const place = r => r.figures === 0 ? "nothing" : r.inside ? "inside" : r.published < r.lowest ? "outside, below" : "outside, above";

page.append(
  el("h1", {}, "A GLA model of 3 billion parameters by the clock"),
  el("p", {class: "meta"}, `${plural(data.candidates.length, "candidate")} on ${data.instance}; assumptions ${data.assumptions_hash}. Programs and times are those of Assay's own `
    + "compiler and kernels on a modelled device; the published configuration is not public."),
  el("div", {class: "tiles"}, data.ranges.filter(r => r.figures > 0).map(r => el("div", {class: "tile"},
    el("b", {}, `${figure(r)(r.lowest)} … ${figure(r)(r.highest)}`), r.figure, el("small", {}, `published ${figure(r)(r.published)}: ${place(r)}`)))),
  ...section("Where the published figures fall", "Over all candidates and layouts that are possible.", table([
    worded("figure", r => r.figure), numeric("published", r => r.published, null), numeric("lowest", r => r.lowest), numeric("highest", r => r.highest),
    {name: "published one", word: true, value: place, show: r => el("span", {class: r.inside ? "pass" : ""}, place(r))},
    {name: "lowest at", value: r => r.lowest_at}, {name: "highest at", value: r => r.highest_at},
    numeric("figures", r => r.figures), numeric("below published", r => r.below_published)].map(c => ["published", "lowest", "highest"].includes(c.name)
      ? {...c, show: r => r.figures ? figure(r)(r[c.name]) : ""} : c), data.ranges, {search: false})),
  ...section("Candidates", null, table([
    worded("id", c => c.id), numeric("hidden", c => c.hidden), numeric("layers", c => c.layers), numeric("heads", c => c.heads),
    worded("keys × values", c => `${c.head_key} × ${c.head_value}`), numeric("MLP", c => c.mlp), numeric("vocabulary", c => c.vocabulary),
    numeric("parameters", c => c.parameters, x => (x / 1e9).toFixed(2) + " G"), numeric("state", c => c.state_bytes, x => (x / 1e6).toFixed(2) + " MB", "of a sequence, whatever its length"),
    numeric("training", c => c.train_flops_per_token, x => (x / 1e9).toFixed(1) + " GFLOP", "a token"),
    numeric("decoding", c => c.decode_flops_per_token, x => (x / 1e9).toFixed(2) + " GFLOP", "a token")], data.candidates, {search: false})));

const training = possible(data.training), decoding = possible(data.decode);
const bestOf = (rows, mode, candidate) => {
  const of = rows.filter(r => r.mode === mode && r.candidate === candidate);
  return of.length ? Math.max(...of.map(r => r.tokens_per_s)) : null;
};
const publishedRate = name => (data.ranges.find(r => r.figure.startsWith(name) && !isShare(r)) || {}).published;
function bars(title, rows, published) {
  const names = data.candidates.map(c => c.id), modes = [...new Set(rows.map(r => r.mode))];
  return chart(title, {type: "bar", data: {labels: names, datasets: [
    ...modes.map((mode, i) => ({label: mode, backgroundColor: COLORS[[0, 3][i % 2]], data: names.map(id => bestOf(rows, mode, id))})),
    {label: "published", type: "line", borderColor: css("--fail"), borderWidth: 2, borderDash: [6, 4], pointRadius: names.length > 1 ? 0 : 4, data: names.map(() => published)}]},
    options: {scales: {y: {type: "logarithmic", title: {display: true, text: "tokens/s"}, ticks: {callback: ticks(rate)}}}}});
}
const growth = data.growth.rows;
page.append(el("div", {class: "charts"},
  bars("Training, best layout of each candidate (log scale)", training, publishedRate("training")),
  bars(`Decoding ${data.decode_sequences} sequences, best layout (log scale)`, decoding, publishedRate("decode")),
  lines(`A layer of ${data.growth.candidate} over the length (log scales)`, [
    {label: "training", points: growth.map(g => [g.tokens, g.training_s])}, {label: "one decoded token", points: growth.map(g => [g.tokens, g.decode_s])}],
    {name: "tokens", log: true, show: decades(short)}, {name: "time", log: true, show: v => /^1(e|0|$)|^0\.0*1$/.test(String(v)) ? seconds(v) : ""}),
  lines("What it remembers of a sequence (log scales)", [
    {label: "state", points: growth.map(g => [g.tokens, g.state_bytes])}, {label: "keys and values", points: growth.map(g => [g.tokens, g.kv_bytes])}],
    {name: "tokens", log: true, show: decades(short)}, {name: "bytes", log: true, show: decades(x => short(x < 1e6 ? x / 1e3 : x < 1e9 ? x / 1e6 : x / 1e9) + (x < 1e6 ? " kB" : x < 1e9 ? " MB" : " GB"))}),
  ...data.concurrency.filter(t => t.candidate === data.growth.candidate).map(t => lines(`Sequences of ${t.candidate} in ${bytes(t.memory_bytes)} (log scales)`, [
    {label: "constant state", points: t.rows.map(r => [r.context, r.state])}, {label: "keys and values, all heads", points: t.rows.map(r => [r.context, r.kv_cache])},
    {label: "8 heads of 128", dashed: true, points: t.rows.map(r => [r.context, r.kv_cache_grouped])}],
    {name: "tokens of context", log: true, show: decades(short)}, {name: "sequences", log: true, min: 1, show: decades(short)}))));

const MORE = [["compute_s", "phase-first", "compute"], ["tensor_parallel_s", "phase-compile", "tensor parallelism"], ["fsdp_exposed_s", "phase-prepare", "FSDP"],
  ["optimiser_s", "phase-judge", "optimiser"], ["host_s", "phase-host", "host"]];
page.append(
  ...section("Training", "Seconds of a step of the busiest rank; what tensor parallelism, exposed FSDP, optimiser and host add to it.",
    el("p", {class: "legend"}, MORE.map(([, fill, name]) => el("span", {}, el("i", {class: "fill-" + fill}), name))),
    table([worded("candidate", r => r.candidate), worded("layout", r => r.layout), numeric("×", r => r.accumulation, null, "micro-batches"), worded("mode", r => r.mode),
      worded("Muon", r => words(r.muon)), numeric("tokens", r => r.tokens), numeric("step", r => r.seconds, seconds),
      {name: "of it", value: r => r.seconds, show: r => stack(MORE.map(([key, fill, name]) => [fill, 1000 * r[key] / r.seconds, `‰ ${name}`]), 0, 0)},
      ...MORE.map(([key, , name]) => numeric(name, r => r[key], seconds)), numeric("tokens/s", r => r.tokens_per_s, rate), numeric("MFU", r => r.mfu, percent),
      numeric("instructions", r => r.instructions), numeric("Programs", r => r.programs, null, "of a step, by the instruction limit"),
      worded("", r => r.recomputes ? "layers computed twice" : "")], training,
      {filter: {name: "modes", value: r => r.mode}, size: 30})),
  ...section("Parts of a step on one core", "One run of each, of the first layout that a candidate can take; engines and DMA while they are busy.", table([
    worded("candidate", r => r.candidate), worded("layout", r => r.layout), worded("part", r => r.part), numeric("nodes", r => r.nodes), numeric("instructions", r => r.instructions),
    numeric("compiled", r => r.compiled_s, seconds), numeric("TensorE", r => r.tensor_s, seconds), numeric("VectorE", r => r.vector_s, seconds), numeric("DMA", r => r.dma_s, seconds),
    numeric("eager", r => r.eager_s, seconds), numeric("launches", r => r.launches)], data.parts, {filter: {name: "candidates", value: r => r.candidate}, size: 30})),
  ...section(`Decoding ${data.decode_sequences} sequences`, null, table([
    worded("candidate", r => r.candidate), worded("layout", r => r.layout), worded("mode", r => r.mode), numeric("each", r => r.sequences, null, "sequences of a rank"),
    numeric("step", r => r.step_s, seconds), numeric("compute", r => r.compute_s, seconds), numeric("collectives", r => r.collective_s, seconds), numeric("host", r => r.host_s, seconds),
    numeric("launches", r => r.launches), numeric("tokens/s", r => r.tokens_per_s, rate), numeric("states of HBM", r => r.state_share_of_hbm, percent, "share of its bandwidth that states take")],
    decoding, {filter: {name: "modes", value: r => r.mode}, size: 30})),
  ...section("Two cores to a rank, compiled", "LNC 2: two Programs that share a rank's work at no cost, as assumed, and one whose kernels the compiler divides between the cores.", table([
    worded("candidate", r => r.candidate), worded("layout", r => r.layout), worded("", r => r.work), numeric("shared, tokens/s", r => r.shared_tokens_per_s, rate),
    numeric("divided, tokens/s", r => r.divided_tokens_per_s, rate), numeric("difference", r => r.divided_tokens_per_s / r.shared_tokens_per_s - 1, signed)],
    data.divided, {filter: {name: "work", value: r => r.work}, size: 30})),
  ...section("Chunk sizes, compiled", "Step time with other chunks, the rest as it was. Those of more rows than a core has partitions (128) are cut into tiles that meet pair by pair; the range above leaves out what no kernel takes.", table([
    worded("candidate", r => r.candidate), worded("layout", r => r.layout), numeric("chunk", r => r.chunk), numeric("attention", r => r.attention_s, seconds, "of a layer, both passes"),
    numeric("tokens/s", r => r.tokens_per_s, rate), numeric(`gain of ${data.chunk_size}`, r => r.gain, signed), worded("", r => r.not_possible || (r.composed ? "composed of operators" : ""))],
    data.chunk_sizes, {search: false})),
  ...section("The unrolled backward pass", "Instructions of a core.", table([
    worded("candidate", r => r.candidate), worded("layout", r => r.layout), numeric("chunks", r => r.chunks), numeric("attention of a layer", r => r.layer), numeric("all layers", r => r.step),
    numeric("limit", r => r.limit), numeric("Programs", r => r.programs)], data.unrolled_backward, {search: false})),
  ...section("Growth", `One layer's attention of ${data.growth.candidate} on one core, one sequence; longer ones are trained in segments.`, table([
    numeric("tokens", r => r.tokens), numeric("segments", r => r.segments), numeric("training", r => r.training_s, seconds), numeric("instructions", r => r.training_instructions),
    numeric("a decoded token", r => r.decode_s, seconds), numeric("state", r => r.state_bytes, bytes), numeric("keys and values", r => r.kv_bytes, bytes)], growth, {search: false})));
page.append(...section("Sequences that fit", "Weights subtracted.", table([
  worded("candidate", r => r.t.candidate), numeric("memory", r => r.t.memory_bytes, bytes), numeric("weights", r => r.t.weight_bytes, bytes), numeric("context", r => r.context),
  numeric("constant state", r => r.state), numeric("keys and values, all heads", r => r.kv_cache), numeric("8 heads of 128", r => r.kv_cache_grouped)],
  data.concurrency.flatMap(t => t.rows.map(r => ({...r, t}))), {filter: {name: "candidates", value: r => r.t.candidate}, size: 20})));
const refused = [...data.training, ...data.decode].filter(r => r.not_possible);
if (refused.length) page.append(...section("Layouts that are not possible", null, table([worded("candidate", r => r.candidate), worded("layout", r => r.layout),
  {name: "why", value: r => r.not_possible}], refused, {search: false})));
if (data.rank_in_full) {
  const r = data.rank_in_full;
  page.append(...section("One rank in full", null, el("p", {}, `${r.candidate} ${r.layout}: ${plural(r.tokens, "token")}, ${short(r.instructions)} instructions, `
    + `${seconds(r.simulated_s)} simulated; generated and timed in full in ${seconds(r.generate_and_time_s)} on this machine.`)));
}
