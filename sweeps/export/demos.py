"""Small models of the kinds that `assay check` must accept, for make_pt2.py.

Each is what a user might bring, or a corner of the format that is legal and
easily forgotten: mutated buffers and inputs, an output that is an input, a
graph without a node, symbolic sizes, a float narrower than fp32.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional


class Mlp(nn.Module):
    def __init__(self, width: int = 16):
        super().__init__()
        self.up = nn.Linear(8, width)
        self.down = nn.Linear(width, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(functional.gelu(self.up(x)))


class TransformerBlock(nn.Module):
    """Pre-norm, causal, with its own embedding and head: a language model of one block."""

    def __init__(self, vocabulary: int = 32, hidden: int = 16, heads: int = 2):
        super().__init__()
        self.heads = heads
        self.embedding = nn.Embedding(vocabulary, hidden)
        self.attention_norm = nn.LayerNorm(hidden)
        self.qkv = nn.Linear(hidden, 3 * hidden)
        self.project = nn.Linear(hidden, hidden)
        self.mlp_norm = nn.LayerNorm(hidden)
        self.up = nn.Linear(hidden, 2 * hidden)
        self.down = nn.Linear(2 * hidden, hidden)
        self.head = nn.Linear(hidden, vocabulary, bias=False)

    def attention(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, hidden = x.shape
        split = self.qkv(x).reshape(batch, length, 3, self.heads, hidden // self.heads)
        query, key, value = split.permute(2, 0, 3, 1, 4).unbind(0)
        scores = query @ key.transpose(-1, -2) / (hidden // self.heads) ** 0.5
        future = torch.ones(length, length, dtype=torch.bool).triu(1)
        weights = scores.masked_fill(future, float("-inf")).softmax(-1)
        return self.project((weights @ value).transpose(1, 2).reshape(batch, length, hidden))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.embedding(ids)
        x = x + self.attention(self.attention_norm(x))
        x = x + self.down(functional.silu(self.up(self.mlp_norm(x))))
        return self.head(x)


class ConvNet(nn.Module):
    """Convolutions, batch norm in evaluation, poolings, dropout and an in-place activation."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(2, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.MaxPool2d(2),
            nn.Conv2d(4, 4, 3, groups=2, padding="same"), nn.GroupNorm(2, 4), nn.Hardswish(), nn.AdaptiveAvgPool2d(1),
            nn.Flatten(), nn.Dropout(0.5), nn.Linear(4, 3), nn.LogSoftmax(-1),
        )  # fmt: skip

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


class GroupedAttention(nn.Module):
    """RMS norm, rotary embedding and grouped-query attention, as in current language models."""

    def __init__(self, hidden: int = 16, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.RMSNorm(hidden)
        self.query = nn.Linear(hidden, hidden, bias=False)
        self.key_value = nn.Linear(hidden, hidden, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, hidden = x.shape
        size = hidden // self.heads
        y = self.norm(x)
        query = self.query(y).unflatten(-1, (self.heads, size)).transpose(1, 2)
        key, value = self.key_value(y).unflatten(-1, (self.heads, size)).transpose(1, 2).chunk(2, dim=1)
        angles = torch.outer(torch.arange(length).float(), 0.5 ** torch.arange(0, size, 2).float())
        angles = torch.cat([angles, angles], -1)
        query, key = (
            t * angles.cos() + torch.cat([-t[..., size // 2 :], t[..., : size // 2]], -1) * angles.sin()
            for t in (query, key)
        )
        attended = functional.scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=True)
        return x + attended.transpose(1, 2).reshape(batch, length, hidden)


class Composites(nn.Module):
    """Functions that torch.export leaves whole: losses, cells, products, choices, joins. Results in a dict, one None."""

    def __init__(self) -> None:
        super().__init__()
        self.gates_of_input = nn.Linear(4, 12)
        self.gates_of_state = nn.Linear(3, 12)

    def forward(self, x: torch.Tensor, y: torch.Tensor, classes: torch.Tensor) -> dict[str, Any]:
        mask = x > y
        start = torch.zeros(3, 3)
        of_input, of_state = self.gates_of_input, self.gates_of_state
        hidden, cell = torch.lstm_cell(
            x, (start, start), of_input.weight, of_state.weight, of_input.bias, of_state.bias
        )
        return {
            "losses": (functional.cross_entropy(x, classes), functional.smooth_l1_loss(x, y)),
            "cell": [hidden, cell],
            "products": (torch.outer(x[0], y[1]), torch.mv(x, y[0]), torch.baddbmm(x[None], x[None] @ x.mT, y[None])),
            "masked": torch.where(mask, x, 0.0).masked_fill(mask.all(), float("-inf")).softmax(-1),
            "choices": (mask.any(-1), x.argmax(), x.argmax(-1), x.std(-1), functional.one_hot(classes, 4)),
            "joined": torch.stack([x, y.roll(1, 0)], 1).flatten(1).tril(),
            "none": None,
        }


class RunningTotal(nn.Module):
    """Mutates a float buffer and an integer counter."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.tensor([0.5, -0.25, 1.0]))
        self.register_buffer("calls", torch.tensor(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.total.add_(x.sum(0))
        self.calls.add_(1)
        return x * self.total


class AddsInPlace(nn.Module):
    """Mutates its input."""

    def forward(self, x: torch.Tensor, step: torch.Tensor) -> torch.Tensor:
        x.add_(step, alpha=-0.5)
        return x.square().sum(-1)


class RotaryScores(nn.Module):
    """Angles without a gradient, as language models make them, and a scalar taken from a tensor."""

    def angles(self, positions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        with torch.no_grad(), torch.autocast("cpu", enabled=False):
            rates = 100.0 ** (-torch.arange(4) / 4)
            phase = positions[:, None] * rates
            return phase.cos(), phase.sin()

    def forward(self, x: torch.Tensor, positions: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        cosine, sine = self.angles(positions)
        first, second = x.chunk(2, -1)
        turned = torch.cat([first * cosine - second * sine, first * sine + second * cosine], -1)
        return turned @ turned.T * scale.item()


class ReturnsInput(nn.Module):
    """One output is an input, unchanged."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x.exp(), x


class Nothing(nn.Module):
    """No node at all: the output is the input."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x


class Constant(nn.Module):
    """The output is a buffer, whatever comes in."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("answer", torch.tensor([4.0, 2.0]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.answer


class Special(nn.Module):
    """Functions for which devices have no kernel, with some for which they have."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.special.bessel_j0(x) + torch.special.i1(x) * torch.sin(x) + torch.polygamma(1, x.abs() + 1)


def floats(*shape: int) -> torch.Tensor:
    count = torch.Size(shape).numel()
    return torch.linspace(-1.5, 1.25, count).reshape(shape)


def ids(batch: int, length: int, vocabulary: int) -> torch.Tensor:
    return (torch.arange(batch * length) * 37 % vocabulary).reshape(batch, length)


@dataclass(frozen=True)
class Demo:
    model: Callable[[], nn.Module]
    inputs: Callable[[], dict[str, torch.Tensor]]
    dtype: torch.dtype = torch.float32
    dynamic: dict[str, Any] | None = None
    # False: as torch.export.export gives it, with composite and in-place operators.
    decomposed: bool = True


DEMOS: dict[str, Demo] = {
    "mlp": Demo(Mlp, lambda: {"x": floats(3, 8)}),
    "mlp_bf16": Demo(Mlp, lambda: {"x": floats(3, 8).bfloat16()}, dtype=torch.bfloat16),
    "mlp_dynamic": Demo(Mlp, lambda: {"x": floats(3, 8)}, dynamic={"x": {0: torch.export.Dim("batch", min=2, max=64)}}),
    "transformer_block": Demo(TransformerBlock, lambda: {"ids": ids(2, 8, 32)}),
    "raw_mlp": Demo(Mlp, lambda: {"x": floats(2, 3, 8)}, decomposed=False),
    "raw_conv_net": Demo(ConvNet, lambda: {"x": floats(2, 2, 6, 6)}, decomposed=False),
    "raw_attention": Demo(GroupedAttention, lambda: {"x": floats(1, 4, 16).cos()}, decomposed=False),
    "raw_composites": Demo(
        Composites,
        lambda: {"x": floats(3, 4), "y": floats(3, 4).cos(), "classes": torch.tensor([2, 0, 3])},
        decomposed=False,
    ),
    "raw_regions": Demo(
        RotaryScores,
        lambda: {"x": floats(3, 8).cos(), "positions": torch.arange(3), "scale": torch.tensor(0.375)},
        decomposed=False,
    ),
    "raw_buffer_mutation": Demo(RunningTotal, lambda: {"x": floats(4, 3)}, decomposed=False),
    "buffer_mutation": Demo(RunningTotal, lambda: {"x": floats(4, 3)}),
    "input_mutation": Demo(AddsInPlace, lambda: {"x": floats(2, 3), "step": floats(2, 3).abs()}),
    "output_is_input": Demo(ReturnsInput, lambda: {"x": floats(2, 3)}),
    "empty": Demo(Nothing, lambda: {"x": floats(2, 3)}),
    "special": Demo(Special, lambda: {"x": floats(3, 4)}),
    "constant": Demo(Constant, lambda: {"x": floats(2, 3)}),
}
