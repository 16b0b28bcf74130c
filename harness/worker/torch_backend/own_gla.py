"""Gated linear attention and Muon's orthogonalisation in PyTorch (core/opset/gla.h, core/opset/rules/muon.cpp).

By chunks, as published (Yang et al., 2023): everything within chunks is
batched over heads and chunks, only the states go from chunk to chunk. Blocks of
16 rows and an anchor at the first of them keep every exponent at or below 0;
within a block decays are formed element by element.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

BLOCK = 16
_LOWEST_GATE = {torch.float64: -1024.0}  # exp() of it is 0; -128 in fp32


def _wide(dtype: torch.dtype) -> torch.dtype:
    return torch.float64 if dtype == torch.float64 else torch.float32


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)


def _check_operands(q: Tensor, k: Tensor, v: Tensor, g: Tensor, rank: int, scale: float | None) -> float:
    _require(q.dim() == rank and v.dim() == rank, f"q and v must have {rank} dims, q has shape {list(q.shape)}")
    _require(q.dtype in (torch.float64, torch.float32, torch.bfloat16, torch.float16), f"q has dtype {q.dtype}")
    _require(k.dtype == q.dtype and v.dtype == q.dtype, "k and v must have the dtype of q")
    _require(g.dtype in (q.dtype, _wide(q.dtype)), f"g has dtype {g.dtype}; it must be that of q, or fp32")
    _require(k.shape == q.shape, f"k has shape {list(k.shape)}; it must be that of q, {list(q.shape)}")
    _require(g.shape == q.shape, f"g has shape {list(g.shape)}; it must be that of q, {list(q.shape)}")
    _require(v.shape[:-1] == q.shape[:-1], f"v has shape {list(v.shape)}; only its last size may differ from q's")
    _require(min(*q.shape[-2:], v.shape[-1]) >= 1, "the number of heads and their sizes must be at least 1")
    factor = q.shape[-1] ** -0.5 if scale is None else scale
    _require(abs(factor) < float("inf"), f"scale is {scale}; it must be finite")
    return factor


def _sequences(q: Tensor, offsets: list[int] | None) -> list[tuple[slice, slice, slice]]:
    """States, batch entries and rows that go together: all, or one packed sequence after another; no empty ones."""
    if offsets is None:
        return [(slice(None), slice(None), slice(0, q.shape[1]))] if q.numel() > 0 else []
    _require(q.shape[0] == 1, f"cu_seqlens packs one batch entry; q has a batch of {q.shape[0]}, it must be 1")
    _require(len(offsets) >= 2, "cu_seqlens must have one more than there are sequences")
    _require(offsets[0] == 0, f"cu_seqlens starts at {offsets[0]}; it must start at 0")
    for start, end in zip(offsets, offsets[1:]):
        _require(start <= end, f"cu_seqlens goes back from {start} to {end}")
        _require(end <= q.shape[1], f"cu_seqlens is {end}; q has only {q.shape[1]} rows")
    parts = enumerate(zip(offsets, offsets[1:]))
    return [(slice(i, i + 1), slice(0, 1), slice(start, end)) for i, (start, end) in parts if start < end]


def _state_shape(q: Tensor, v: Tensor, offsets: list[int] | None) -> tuple[int, ...]:
    return (q.shape[0] if offsets is None else len(offsets) - 1, q.shape[2], q.shape[3], v.shape[3])


def _check_state(name: str, state: Tensor | None, shape: tuple[int, ...], dtype: torch.dtype) -> None:
    if state is None:
        return
    _require(tuple(state.shape) == shape, f"{name} has shape {list(state.shape)}; it must be {list(shape)}")
    _require(state.dtype == dtype, f"{name} has dtype {state.dtype}; states are {dtype}")


def _check_gates(rows: Iterable[Tensor]) -> None:
    """Of rows that belong to no sequence nothing is asked."""
    for g in rows:
        _require(not g.isnan().any(), "g is NaN; it must be the logarithm of a decay, at most 0")


@dataclass
class _Block:
    """Rows of all chunks whose decays towards each other are formed element by element."""

    start: int
    end: int
    own: Tensor  # exp(b_i - b_n), n the block's first row
    before: Tensor  # exp(b_n - b_j) for the rows before the block
    inside: Tensor  # exp(b_i - b_j) for j <= i, else 0: [..., m, m, K]


class _Chunks:
    """[S, H, N, C, D] of all operands, padded with rows that leave the state alone."""

    def __init__(self, q: Tensor, k: Tensor, v: Tensor, g: Tensor, scale: float, chunk: int):
        self.length, self.rows, self.scale = q.shape[1], min(chunk, q.shape[1]), scale
        self.dtype = _wide(q.dtype)
        self.q, self.k, self.v = self.load(q), self.load(k), self.load(v)
        lowest = _LOWEST_GATE.get(self.dtype, -128.0)
        gate = self.load(g)
        self.in_range = gate >= lowest
        self.b = gate.clamp_min(lowest).cumsum(-2)
        last = self.b[..., -1:, :]
        self.from_start = self.b.exp()
        self.k_to_end = self.k * (last - self.b).exp_()
        self.whole = last.exp().transpose(-1, -2)  # [..., K, 1]

    def load(self, x: Tensor) -> Tensor:
        sequences, length, heads, size = x.shape
        chunks = -(-length // self.rows)
        x = x.to(self.dtype).transpose(1, 2)
        x = torch.nn.functional.pad(x, (0, 0, 0, chunks * self.rows - length))
        return x.reshape(sequences, heads, chunks, self.rows, size)

    def store(self, x: Tensor, dtype: torch.dtype) -> Tensor:
        sequences, heads, chunks, rows, size = x.shape
        return x.reshape(sequences, heads, chunks * rows, size)[:, :, : self.length].transpose(1, 2).to(dtype)

    def blocks(self) -> Iterator[_Block]:
        for start in range(0, self.rows, BLOCK):
            end = min(self.rows, start + BLOCK)
            b, first = self.b[..., start:end, :], self.b[..., start : start + 1, :]
            apart = b.unsqueeze(-2) - b.unsqueeze(-3)
            above = torch.ones(end - start, end - start, dtype=torch.bool, device=b.device).triu(1)
            inside = apart.masked_fill_(above.unsqueeze(-1), -float("inf")).exp_()
            yield _Block(start, end, (b - first).exp_(), (first - self.b[..., :start, :]).exp_(), inside)

    def scores(self, block: _Block, out: Tensor) -> None:
        q, k = self.q[..., block.start : block.end, :], self.k[..., block.start : block.end, :]
        decayed = block.inside * k.unsqueeze(-3)
        out[..., block.start : block.end, block.start : block.end] = (decayed @ q.unsqueeze(-1)).squeeze(-1)
        if block.start > 0:
            before = self.k[..., : block.start, :] * block.before
            out[..., block.start : block.end, : block.start] = (q * block.own) @ before.transpose(-1, -2)

    def states(self, state: Tensor) -> Tensor:
        """The state before each chunk and behind the last: [S, H, N + 1, K, V]."""
        writes = self.k_to_end.transpose(-1, -2) @ self.v
        states = state.new_empty(*state.shape[:2], writes.shape[2] + 1, *state.shape[2:])
        states[:, :, 0] = state
        for n in range(writes.shape[2]):
            torch.addcmul(writes[:, :, n], self.whole[:, :, n], states[:, :, n], out=states[:, :, n + 1])
        return states


def gla_chunk(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    g: Tensor,
    initial_state: Tensor | None = None,
    cu_seqlens: list[int] | None = None,
    *,
    scale: float | None = None,
    chunk_size: int = 128,
) -> tuple[Tensor, Tensor]:
    factor = _check_operands(q, k, v, g, 4, scale)
    _require(chunk_size >= 1, f"chunk_size is {chunk_size}; it must be at least 1")
    parts = _sequences(q, cu_seqlens)
    _check_gates(g[batch, rows] for _, batch, rows in parts)
    shape, wide = _state_shape(q, v, cu_seqlens), _wide(q.dtype)
    _check_state("initial_state", initial_state, shape, wide)
    output, final = torch.zeros_like(v), q.new_zeros(shape, dtype=wide)
    if initial_state is not None:
        final.copy_(initial_state)
    for at, batch, rows in parts:
        chunks = _Chunks(q[batch, rows], k[batch, rows], v[batch, rows], g[batch, rows], factor, chunk_size)
        scores = torch.zeros(*chunks.q.shape[:-1], chunks.rows, dtype=wide, device=q.device)
        for block in chunks.blocks():
            chunks.scores(block, scores)
        states = chunks.states(final[at])
        result = scores @ chunks.v + (chunks.q * chunks.from_start) @ states[:, :, :-1]
        output[batch, rows] = chunks.store(result.mul_(factor), v.dtype)
        final[at] = states[:, :, -1]
    return output, final


def _chunk_gradients(chunks: _Chunks, grad: Tensor, state: Tensor, d: Tensor) -> list[Tensor]:
    """Of q, k, v, g (by chunks) and of the state before the first chunk; `d` is that of the final state."""
    states = chunks.states(state)
    scale, n = chunks.scale, grad.shape[2]
    read = chunks.q * chunks.from_start
    reads = (read.transpose(-1, -2) @ grad).mul_(scale)
    behind = torch.empty_like(reads)  # the gradient of the state behind each chunk
    for i in reversed(range(n)):
        behind[:, :, i] = d
        d = torch.addcmul(reads[:, :, i], chunks.whole[:, :, i], d)
    of_scores = (grad @ chunks.v.transpose(-1, -2)).mul_(scale)
    scores = torch.zeros_like(of_scores)
    dq = (grad @ states[:, :, :-1].transpose(-1, -2)).mul_(scale).mul_(chunks.from_start)
    last = chunks.b[..., -1:, :]
    dk = (chunks.v @ behind.transpose(-1, -2)).mul_((last - chunks.b).exp_())
    for block in chunks.blocks():
        own, start = slice(block.start, block.end), block.start
        chunks.scores(block, scores)
        q, k = chunks.q[..., own, :], chunks.k[..., own, :]
        weights = of_scores[..., own, own]
        dq[..., own, :] += (weights.unsqueeze(-2) @ (block.inside * k.unsqueeze(-3))).squeeze(-2)
        dk[..., own, :] += (block.inside.mul_(q.unsqueeze(-2)).mul_(weights.unsqueeze(-1))).sum(-3)
        if start > 0:
            weights = of_scores[..., own, :start]
            dq[..., own, :] += (weights @ (chunks.k[..., :start, :] * block.before)).mul_(block.own)
            dk[..., :start, :] += (weights.transpose(-1, -2) @ (q * block.own)).mul_(block.before)
    dv = (scores.transpose(-1, -2) @ grad).mul_(scale) + chunks.k_to_end @ behind
    steps = chunks.q * dq - chunks.k * dk
    dg = steps.flip(-2).cumsum(-2).flip(-2) + (states[:, :, 1:] * behind).sum(-1).unsqueeze(-2)
    return [dq, dk, dv, dg.masked_fill_(~chunks.in_range, 0.0), d]


def gla_chunk_backward(
    grad_output: Tensor,
    grad_final_state: Tensor | None,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    g: Tensor,
    initial_state: Tensor | None = None,
    cu_seqlens: list[int] | None = None,
    *,
    scale: float | None = None,
    chunk_size: int = 128,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    factor = _check_operands(q, k, v, g, 4, scale)
    _require(chunk_size >= 1, f"chunk_size is {chunk_size}; it must be at least 1")
    _require(grad_output.shape == v.shape, f"grad_output has shape {list(grad_output.shape)}; it must be that of v")
    _require(grad_output.dtype == v.dtype, "grad_output must have the dtype of v")
    parts = _sequences(q, cu_seqlens)
    _check_gates(g[batch, rows] for _, batch, rows in parts)
    shape, wide = _state_shape(q, v, cu_seqlens), _wide(q.dtype)
    _check_state("initial_state", initial_state, shape, wide)
    _check_state("grad_final_state", grad_final_state, shape, wide)
    grads = [torch.zeros_like(x) for x in (q, k, v, g)]
    state = q.new_zeros(shape, dtype=wide) if initial_state is None else initial_state
    of_state = q.new_zeros(shape, dtype=wide) if grad_final_state is None else grad_final_state.clone()
    for at, batch, rows in parts:
        chunks = _Chunks(q[batch, rows], k[batch, rows], v[batch, rows], g[batch, rows], factor, chunk_size)
        results = _chunk_gradients(chunks, chunks.load(grad_output[batch, rows]), state[at], of_state[at])
        for to, result in zip(grads, results):
            to[batch, rows] = chunks.store(result, to.dtype)
        of_state[at] = results[-1]
    return (*grads, of_state)


def gla_recurrent_step(
    q: Tensor, k: Tensor, v: Tensor, g: Tensor, state: Tensor, *, scale: float | None = None
) -> tuple[Tensor, Tensor]:
    factor = _check_operands(q, k, v, g, 3, scale)
    _check_gates([g])
    shape, wide = (*q.shape, v.shape[-1]), _wide(q.dtype)
    _require(tuple(state.shape) == shape, f"state has shape {list(state.shape)}; it must be {list(shape)}")
    _require(state.dtype in (wide, q.dtype), f"state has dtype {state.dtype}; it must be {wide} or that of q")
    write = k.to(wide).unsqueeze(-1) * v.to(wide).unsqueeze(-2)
    following = torch.addcmul(write, g.to(wide).exp().unsqueeze(-1), state.to(wide))
    output = (q.to(wide).unsqueeze(-2) @ following).squeeze(-2) * factor
    return output.to(v.dtype), following.to(state.dtype)


def muon_orthogonalize(
    x: Tensor,
    *,
    steps: int = 5,
    a: float = 3.4445,
    b: float = -4.775,
    c: float = 2.0315,
    eps: float = 1e-07,
    clamp_norm: bool = False,
) -> Tensor:
    _require(x.is_floating_point(), f"self has dtype {x.dtype}; it must be float64, float32, bfloat16 or float16")
    _require(x.dim() == 2, f"self has shape {list(x.shape)}; Muon takes matrices")
    _require(0 <= steps <= 99, f"steps is {steps}; it must be from 0 to 99")
    for name, number in (("a", a), ("b", b), ("c", c)):
        _require(abs(number) < float("inf"), f"{name} is {number}; it must be finite")
    _require(0 < eps < float("inf"), f"eps is {eps}; it must be positive")
    if x.numel() == 0:
        return torch.zeros_like(x)
    wide = x.to(_wide(x.dtype))
    norm = torch.linalg.vector_norm(wide)
    y = (wide / (norm.clamp_min(eps) if clamp_norm else norm + eps)).to(x.dtype)
    tall = x.shape[0] > x.shape[1]
    y = y.T if tall else y
    for _ in range(steps):
        square = y @ y.T
        polynomial = torch.addmm(square, square, square, beta=b, alpha=c)
        y = torch.addmm(y, polynomial, y, beta=a)
    return y.T.contiguous() if tall else y


def register(library: torch.library.Library) -> None:
    operands = "Tensor q, Tensor k, Tensor v, Tensor g"
    packing = "Tensor? initial_state=None, int[]? cu_seqlens=None, *, float? scale=None, int chunk_size=128"
    library.define(f"gla_chunk({operands}, {packing}) -> (Tensor, Tensor)")
    library.define(
        f"gla_chunk_backward(Tensor grad_output, Tensor? grad_final_state, {operands}, {packing}) "
        "-> (Tensor, Tensor, Tensor, Tensor, Tensor)"
    )
    library.define(f"gla_recurrent_step({operands}, Tensor state, *, float? scale=None) -> (Tensor, Tensor)")
    library.define(
        "muon_orthogonalize(Tensor self, *, int steps=5, float a=3.4445, float b=-4.775, float c=2.0315, "
        "float eps=1e-07, bool clamp_norm=False) -> Tensor"
    )
    for function in (gla_chunk, gla_chunk_backward, gla_recurrent_step, muon_orthogonalize):
        library.impl(function.__name__, function, "CompositeExplicitAutograd")
