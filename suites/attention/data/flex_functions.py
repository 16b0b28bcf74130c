"""Write the score and mask functions that the attention suite gives to flex_attention.

Each is traced by torch.export as a graph of 0-d tensors, which is the form in
which PyTorch hands them to the operator; buffers that a function captures are
further parameters. `flex_functions.json` is read by flex_functions.cpp,
`flex_calls.json` (PyTorch's own answers in fp64 for small shapes) by
reference/flex_attention_test.cpp.

The names are those of PyTorch's test/inductor/test_flex_attention.py, so that
results can be compared; the functions are written anew.

    python3 -m suites.attention.data.flex_functions
"""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import AuxRequest, create_block_mask, flex_attention

HERE = Path(__file__).resolve().parent
MINUS_INFINITY = -float("inf")
# Sizes at which functions are traced; a buffer's shape is written in terms of them.
SIZES = {"B": 2, "H": 4, "M": 6, "N": 8}


def at(buffer: Tensor, *indices: Tensor) -> Tensor:
    """buffer[indices] with 0-d tensors as indices, as FlexAttention rewrites it."""
    return torch.ops.aten.index.Tensor(buffer, list(indices))


@dataclass
class Buffer:
    """shape: names of SIZES, numbers, or sums of both. Floats are uniform in [-1, 1), others in [low, high)."""

    shape: list[str]
    dtype: torch.dtype = torch.float32
    low: str = "0"
    high: str = "1"

    def sizes(self, sizes: dict[str, int]) -> list[int]:
        return [eval(size, {"Max": max}, sizes) for size in self.shape]  # noqa: S307  our own table

    def draw(self, sizes: dict[str, int], generator: torch.Generator) -> Tensor:
        shape = self.sizes(sizes)
        if self.dtype.is_floating_point:
            return torch.rand(shape, generator=generator, dtype=torch.float64).mul(2).sub(1).to(self.dtype)
        low, high = (int(eval(text, {}, sizes)) for text in (self.low, self.high))  # noqa: S307
        return torch.randint(low, high, shape, generator=generator, dtype=torch.int64).to(self.dtype)


@dataclass
class Function:
    name: str
    call: Callable[..., Tensor]
    buffers: list[Buffer] = field(default_factory=list)


def ints(*shape: str, high: str, low: str = "0") -> Buffer:
    return Buffer(list(shape), torch.int64, low, high)


def alibi(score, b, h, m, n):
    return score + torch.exp2(-((h + 1) * 8.0 / 8)) * (n - m)


def natten(score, b, h, m, n):
    width = 4
    near = ((m // width) - (n // width)).abs() <= 1
    near = near & (((m % width) - (n % width)).abs() <= 1)
    return torch.where(near, score, MINUS_INFINITY)


def dependent(score, b, h, m, n, bidirectional):
    free = (n <= at(bidirectional, b)) & (m <= at(bidirectional, b))
    return torch.where(free | (m >= n), score, MINUS_INFINITY)


SCORES = [
    Function("identity", lambda s, b, h, m, n: s.clone()),
    Function("times_two", lambda s, b, h, m, n: s * 2),
    Function("squared", lambda s, b, h, m, n: s * s),
    Function("causal", lambda s, b, h, m, n: torch.where(m >= n, s, MINUS_INFINITY)),
    Function("inverse_causal", lambda s, b, h, m, n: torch.where(m <= n, s, MINUS_INFINITY)),
    Function("rel_bias", lambda s, b, h, m, n: s + (m - n)),
    Function("rel_causal", lambda s, b, h, m, n: torch.where(m >= n, s + (m - n), MINUS_INFINITY)),
    Function("alibi", alibi),
    Function("head_offset", lambda s, b, h, m, n, o: s * at(o, h), [Buffer(["H"])]),
    Function("trig", lambda s, b, h, m, n: torch.sin(torch.cos(s)) + torch.tan(b.to(torch.float32))),
    Function("trig2", lambda s, b, h, m, n: torch.cos(s) * torch.sin(s) + torch.tan(n.to(torch.float32) / 64)),
    Function(
        "document_mask",
        lambda s, b, h, m, n, d: torch.where(at(d, m) == at(d, n), s, MINUS_INFINITY),
        [ints("Max(M, N)", high="3")],
    ),
    Function(
        "index_multiple",
        lambda s, b, h, m, n, t: s + at(t, m, n),
        [Buffer(["M", "N"])],
    ),
    Function("index_weird1", lambda s, b, h, m, n, t: s + at(at(t, b), h), [Buffer(["B", "H"])]),
    Function("index_weird2", lambda s, b, h, m, n, t, i: s + at(t, at(i, n)), [Buffer(["M"]), ints("N", high="M")]),
    Function("negative_index", lambda s, b, h, m, n, t: s + at(at(t, m), -1 - n), [Buffer(["M", "N"])]),
    Function("skip_odd_keys", lambda s, b, h, m, n: torch.where(n % 2 == 0, s, MINUS_INFINITY)),
    Function(
        "function_composition",
        lambda s, b, h, m, n: torch.where(m >= n, s + (m - n), MINUS_INFINITY) * 2,
    ),
    Function(
        "captured_all_dims",
        lambda s, b, h, m, n, hs, bs, t, q: s + at(hs, h) + at(bs, b) + at(t, m, n) + at(q, m),
        [Buffer(["H"]), Buffer(["B"]), Buffer(["M", "N"]), Buffer(["M"])],
    ),
    Function(
        "seq_masking",
        lambda s, b, h, m, n, x: torch.where(at(x, m) == at(x, n), s, MINUS_INFINITY),
        [Buffer(["Max(M, N)"], torch.bool, "0", "2")],
    ),
    Function("bias_seq", lambda s, b, h, m, n, t: s + at(t, m, n), [Buffer(["M", "N"])]),
    Function("bias_batch", lambda s, b, h, m, n, t: s + at(t, b, m, n), [Buffer(["B", "M", "N"])]),
    Function("bias_head", lambda s, b, h, m, n, t: s + at(t, b, h, m, n), [Buffer(["B", "H", "M", "N"])]),
    Function(
        "rel_h",
        lambda s, b, h, m, n, t: s + at(t, b, h, m, (n // 2) % 4),
        [Buffer(["B", "H", "M", "4"])],
    ),
    Function(
        "load_rel_bias",
        lambda s, b, h, m, n, t: s + at(t, m - n + 700),
        [Buffer(["1400"])],
    ),
    Function("dependent_causal", dependent, [ints("B", high="M")]),
    Function("natten_2d", natten),
    Function("quotient", lambda s, b, h, m, n: s + m // (1 + n)),
    Function("silu_on_score", lambda s, b, h, m, n: torch.nn.functional.silu(s)),
    Function(
        "padded_dense_causal",
        lambda s, b, h, m, n, k: torch.where((n < at(k, b)) & (m >= n), s, MINUS_INFINITY),
        [ints("B", low="1", high="N + 1")],
    ),
    Function("captured_scale", lambda s, b, h, m, n, c: s * c, [Buffer([])]),
    Function(
        "njt_causal",
        lambda s, b, h, m, n, d, o: torch.where(
            (at(d, m) == at(d, n)) & (m - at(o, at(d, m)) >= n - at(o, at(d, n))), s, MINUS_INFINITY
        ),
        [ints("Max(M, N)", high="3"), ints("3", high="4")],
    ),
    Function("windowed", lambda s, b, h, m, n: torch.where((m >= n) & (m - n < 100), s, MINUS_INFINITY)),
    Function("softcap", lambda s, b, h, m, n: torch.tanh(s / 5.0) * 5.0),
    Function("nothing_open", lambda s, b, h, m, n: torch.where(m % 3 == 1, MINUS_INFINITY, s)),
]

MASKS = [
    Function("noop", lambda b, h, m, n: b.new_ones([], dtype=torch.bool)),
    Function("causal", lambda b, h, m, n: m >= n),
    Function("inverse_causal", lambda b, h, m, n: m <= n),
    Function("negated_causal", lambda b, h, m, n: ~(m >= n)),
    Function("sliding_window", lambda b, h, m, n: (m - n).abs() <= 16),
    Function("causal_and_window", lambda b, h, m, n: (m >= n) & (m - n <= 16)),
    Function("causal_or_prefix", lambda b, h, m, n: (m >= n) | (n < 3)),
    Function(
        "document", lambda b, h, m, n, d: at(d, m) == at(d, n), [ints("Max(M, N)", high="3")]
    ),
    Function(
        "captured_mask",
        lambda b, h, m, n, t: at(t, b, h, m, n),
        [Buffer(["B", "H", "M", "N"], torch.bool, "0", "2")],
    ),
    Function("bottom_right", lambda b, h, m, n, d: n <= m + d, [Buffer([], torch.int64, "N - M", "N - M + 1")]),
]


class Traced(torch.nn.Module):
    def __init__(self, call: Callable[..., Tensor]):
        super().__init__()
        self.call = call

    def forward(self, *parameters: Tensor) -> Tensor:
        return self.call(*parameters)


def graph_of(function: Function, score: bool) -> dict[str, Any]:
    """The function as PyTorch's Graph object, without what people read (stack traces, devices of nodes)."""
    generator = torch.Generator().manual_seed(0)
    positions = [torch.tensor(1, dtype=torch.int32) for _ in range(4)]
    buffers = [buffer.draw(SIZES, generator) for buffer in function.buffers]
    parameters = ([torch.tensor(0.5)] if score else []) + positions + buffers
    program = torch.export.export(Traced(function.call), tuple(parameters), strict=False).run_decompositions()
    file = io.BytesIO()
    torch.export.save(program, file)
    archive = zipfile.ZipFile(file)
    name = next(name for name in archive.namelist() if name.endswith("models/model.json"))
    module = json.loads(archive.read(name))["graph_module"]
    if any("user_input" not in spec for spec in module["signature"]["input_specs"]):
        raise ValueError(f"{function.name} captures a constant; make it a buffer")
    graph = module["graph"]
    for node in graph["nodes"]:
        node["metadata"] = {}
    return graph


def table(functions: list[Function], score: bool) -> list[dict[str, Any]]:
    return [
        {
            "name": function.name,
            "buffers": [
                {
                    "shape": buffer.shape,
                    "dtype": str(buffer.dtype).removeprefix("torch."),
                    "low": buffer.low,
                    "high": buffer.high,
                }
                for buffer in function.buffers
            ],
            "graph": graph_of(function, score),
        }
        for function in functions
    ]


NAMES = {torch.float64: "f64", torch.float32: "f32", torch.int64: "i64", torch.bool: "bool"}


def numbers(tensor: Tensor) -> dict[str, Any]:
    def one(value: float) -> Any:
        if isinstance(value, float) and not math.isfinite(value):
            return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
        return value

    flat = [one(value) for value in tensor.flatten().tolist()]
    return {"t": NAMES[tensor.dtype], "s": list(tensor.shape), "d": flat}


def call_of(score: Function, mask: Function | None, sizes: dict[str, int]) -> dict[str, Any]:
    """PyTorch's eager answer in fp64; its logsumexp is to the base e, the operator's to the base 2."""
    generator = torch.Generator().manual_seed(1)
    heads = sizes["H"]

    def real(*shape: int) -> Tensor:
        return torch.rand(shape, generator=generator, dtype=torch.float64).mul(4).sub(2)

    query = real(sizes["B"], heads, sizes["M"], 3)
    batch = 1 if mask else sizes["B"]  # without a block mask PyTorch repeats no batch
    key = real(batch, heads // 2, sizes["N"], 3)
    value = real(batch, heads // 2, sizes["N"], 2)
    of_score = [buffer.draw(sizes, generator) for buffer in score.buffers]
    of_mask = [buffer.draw(sizes, generator) for buffer in mask.buffers] if mask else []
    block = None
    if mask:
        block = create_block_mask(
            lambda b, h, m, n: mask.call(b, h, m, n, *of_mask), sizes["B"], heads, sizes["M"], sizes["N"], device="cpu"
        )
    out, aux = flex_attention(
        query,
        key,
        value,
        score_mod=lambda s, b, h, m, n: score.call(s, b, h, m, n, *of_score),
        block_mask=block,
        enable_gqa=True,
        return_aux=AuxRequest(lse=True),
    )
    return {
        "score": score.name,
        "mask": mask.name if mask else None,
        "query": numbers(query),
        "key": numbers(key),
        "value": numbers(value),
        "score_buffers": [numbers(buffer) for buffer in of_score],
        "mask_buffers": [numbers(buffer) for buffer in of_mask],
        "output": numbers(out),
        "logsumexp": numbers(aux.lse.double() / math.log(2)),
    }


def main() -> None:
    functions = {"scores": table(SCORES, True), "masks": table(MASKS, False)}
    (HERE / "flex_functions.json").write_text(json.dumps(functions, separators=(",", ":")) + "\n")
    sizes = {"B": 2, "H": 4, "M": 3, "N": 5}
    calls = [call_of(score, None, sizes) for score in SCORES]
    calls += [call_of(SCORES[5], mask, sizes) for mask in MASKS]
    lines = ",\n".join(json.dumps(call, separators=(",", ":")) for call in calls)
    (HERE / "flex_calls.json").write_text(f"[{lines}]\n")
    print(f"{len(SCORES)} score functions, {len(MASKS)} mask functions, {len(calls)} calls")


if __name__ == "__main__":
    main()
