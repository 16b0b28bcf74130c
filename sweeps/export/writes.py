"""Raw exports that write in place, through views and beside them, as cases with fp64 expected values.

    python3 -m sweeps.export.writes --pack suites/witness/data/writes.jsonl.zst   the set that is committed

The graphs are what torch.export writes without `run_decompositions()`: `copy_`, `add_`, `index_put_` and their like on
slices, selections, transposes and on buffers (key and value caches). The expected values are those of PyTorch's own
functionalisation of the same program in fp64, so that they say what core/graph/functionalise.h has to give.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from pathlib import Path

import torch

from . import interpreter
from .make_pt2 import named_outputs
from .pack import Sample, line, write_lines

Tensor = torch.Tensor
Case = tuple[Callable[..., object], list[tuple[int, ...]]]
CASES: dict[str, Case] = {}
"""By name: a function of a module with the buffers `cache` [2, 6, 4] and `count` [3] and of inputs, their shapes."""


def case(*shapes: tuple[int, ...]) -> Callable[[Callable[..., object]], Callable[..., object]]:
    def add(function: Callable[..., object]) -> Callable[..., object]:
        CASES[function.__name__] = (function, list(shapes))
        return function

    return add


@case((4, 6), (4, 2))
def slice_of_a_tensor(_: torch.nn.Module, x: Tensor, y: Tensor) -> Tensor:
    x = x * 2
    x[:, 1:3] = y
    return x + 1


@case((5, 4), (2, 4))
def slice_with_a_step(_: torch.nn.Module, x: Tensor, y: Tensor) -> Tensor:
    x = x.clone()
    x[1::2] = y
    return x


@case((4, 6), (6,))
def selection(_: torch.nn.Module, x: Tensor, y: Tensor) -> Tensor:
    x = x.clone()
    x[-1] = y
    x[0] += y
    return x


@case((2, 3, 4), (2, 4))
def column_of_a_selection(_: torch.nn.Module, x: Tensor, y: Tensor) -> Tensor:
    x = x.clone()
    x[:, 1].copy_(y)
    x[0][:, 2:].mul_(2)
    return x


@case((2, 3, 4))
def cache_slice(self: torch.nn.Module, k: Tensor) -> Tensor:
    self.cache[:, 2:5].copy_(k)
    return self.cache.sum(1)


@case((2, 4), (2, 4))
def cache_twice(self: torch.nn.Module, k: Tensor, v: Tensor) -> Tensor:
    self.cache[:, 0] = k
    before = self.cache * 1
    self.cache[:, 0] = v
    return before - self.cache


@case((2, 1, 4))
def cache_by_index(self: torch.nn.Module, k: Tensor) -> Tensor:
    self.cache.index_copy_(1, torch.tensor([3]), k)
    return self.cache[:, :4] * 2


@case((2, 4, 4))
def cache_rolled(self: torch.nn.Module, k: Tensor) -> Tensor:
    self.cache[:, :-1] = self.cache[:, 1:].clone()
    self.cache[:, -1:].fill_(0.5)
    return self.cache.transpose(1, 2) @ torch.cat([k, k[:, :2]], 1)


@case((3,))
def counters(self: torch.nn.Module, x: Tensor) -> Tensor:
    self.count[0] += 1
    self.count[1:] -= 2
    return x * self.count


@case((4, 6))
def view_before_the_write(_: torch.nn.Module, x: Tensor) -> Tensor:
    x = x + 1
    flat = x.view(-1)
    x.mul_(2)
    return flat * 3


@case((4, 6), (6, 4))
def write_to_a_transpose(_: torch.nn.Module, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    x = x + 1
    turned = x.t()
    turned.add_(y)
    return x.relu(), turned[2]


@case((2, 3, 4), (4, 2, 3))
def write_to_a_permutation(_: torch.nn.Module, x: Tensor, y: Tensor) -> Tensor:
    x = x + 1
    x.permute(2, 0, 1).mul_(y)
    x.permute(0, -1, 1)[0].neg_()
    return x


@case((2, 3, 4), (4, 2, 3))
def write_to_moved_dims(_: torch.nn.Module, x: Tensor, y: Tensor) -> Tensor:
    x = x + 1
    torch.movedim(x, 2, 0).mul_(y)
    torch.movedim(x, (0, 1), (1, 2)).sub_(y)
    return x


@case((3, 4))
def write_to_swapped_dims(_: torch.nn.Module, x: Tensor) -> Tensor:
    x = x + 1
    torch.swapaxes(x, 0, 1)[1].zero_()
    return x


@case((4, 6), (2, 12), (1, 24))
def write_to_reshaped_views(_: torch.nn.Module, x: Tensor, y: Tensor, z: Tensor) -> Tensor:
    x = x + 1
    x.view(2, 12).add_(y)
    x.view(24).unsqueeze(0).mul_(z)
    x.unflatten(1, (2, 3))[:, 1].zero_()
    x.view(1, 4, 6).squeeze(0)[2].add_(1)
    return x


@case((4, 6), (24,))
def view_as_another(_: torch.nn.Module, x: Tensor, y: Tensor) -> Tensor:
    x = x + 1
    x.view_as(y).mul_(y)
    return x


@case((7, 3))
def one_part_of_a_split(_: torch.nn.Module, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    x = x + 1
    first, second, third = x.split(3)
    second.mul_(4)
    return x * 1, first + 1, second + third[0]


@case((3, 8))
def parts_of_unequal_size(_: torch.nn.Module, x: Tensor) -> tuple[Tensor, Tensor]:
    x = x + 1
    a, b, c = torch.split(x, [1, 2, 5], dim=-1)
    a.zero_()
    c[:, 2:4].add_(b)
    return x, c * 2


@case((4, 6))
def chunks(_: torch.nn.Module, x: Tensor) -> tuple[Tensor, Tensor]:
    x = x + 1
    left, right = x.chunk(2, dim=1)
    x.neg_()
    right.exp_()
    return left - right, x


@case((3, 4))
def rows(_: torch.nn.Module, x: Tensor) -> tuple[Tensor, Tensor]:
    x = x + 1
    a, b, c = x.unbind(0)
    b.copy_(a * c)
    return x, a + b


@case((4, 4), (4,))
def diagonal(_: torch.nn.Module, x: Tensor, y: Tensor) -> Tensor:
    x = x.clone()
    x.diagonal().copy_(y)
    x.diagonal(1).zero_()
    return x


@case((5, 4))
def narrowed(_: torch.nn.Module, x: Tensor) -> Tensor:
    x = x.clone()
    x.narrow(0, 1, 3).clamp_(min=0)
    return x


@case((3, 1))
def expanded_and_read(_: torch.nn.Module, x: Tensor) -> Tensor:
    x = x + 1
    wide = x.expand(3, 4)
    x.mul_(2)
    return wide * 1


@case((6, 4))
def overlapping_slices(_: torch.nn.Module, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    x = x + 1
    a, b = x[0:4], x[2:6]
    a.add_(1)
    b.mul_(2)
    a.sub_(3)
    return x, a * 1, b * 1


@case((4, 6))
def views_of_views(_: torch.nn.Module, x: Tensor) -> tuple[Tensor, Tensor]:
    x = x + 1
    inner = x[1:].t()[2:5]
    seen = inner[0]
    inner[1].add_(10)
    x[2] = 7
    inner.mul_(2)
    return x, seen + 1


@case((4, 6), (4,))
def masked_and_indexed(_: torch.nn.Module, x: Tensor, y: Tensor) -> Tensor:
    x = x.clone()
    x[:, 1:4].masked_fill_(x[:, 1:4] > 0, -1)
    x[:, torch.tensor([5, 0])] = y[:, None]
    x[1:3][:, torch.tensor([0, 0])] += 1
    return x


@case((4, 6))
def user_input(_: torch.nn.Module, x: Tensor) -> Tensor:
    x[:, 0] = 0
    x[1].mul_(3)
    return x.sum(1)


@case((4, 6))
def user_input_and_its_view(_: torch.nn.Module, x: Tensor) -> Tensor:
    head = x[:2]
    x.add_(1)
    head.mul_(2)
    return head


@case((3, 4), (3, 4))
def chains(_: torch.nn.Module, x: Tensor, y: Tensor) -> Tensor:
    x = x.clone()
    x[0:2].add_(1).mul_(2).sub_(y[1:])
    x[2].relu_().sqrt_()
    return x


@case((3, 4))
def changed_looks(_: torch.nn.Module, x: Tensor) -> Tensor:
    x = x.clone().unsqueeze_(0).transpose_(1, 2)
    x[0, 1] = 2
    x.squeeze_(0)
    x[:, 0].add_(1)
    return x


@case((4, 6))
def detached(_: torch.nn.Module, x: Tensor) -> Tensor:
    x = x + 1
    x.detach()[0].add_(5)
    return x


@case((4, 6), (4, 6))
def narrower_than_the_operand(_: torch.nn.Module, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    half = x.bfloat16()
    half.add_(y)
    whole = (x * 8).int()
    whole[0].mul_(3)
    part = half[1:3]
    part.mul_(y[1:3])
    return half.float(), whole + 1


@case((4, 6), (6,))
def broadcast_into_a_slice(_: torch.nn.Module, x: Tensor, y: Tensor) -> Tensor:
    x = x.clone()
    x[1:].copy_(y)
    x[:, 2] = 0.25
    return x


@case((3, 5))
def running_sum_in_a_slice(_: torch.nn.Module, x: Tensor) -> Tensor:
    x = x.clone()
    x[:, 1:].cumsum_(1)
    return x


@case((2, 3, 4))
def rotary(_: torch.nn.Module, x: Tensor) -> Tensor:
    out = torch.empty_like(x)
    out[..., ::2] = -x[..., 1::2]
    out[..., 1::2] = x[..., ::2]
    return x * 0.5 + out * 0.25


@case((3, 4), (4,))
def loop_over_rows(_: torch.nn.Module, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
    out = torch.zeros_like(x)
    for i in range(3):
        state = state * 0.5 + x[i]
        out[i] = state
    return out, state


@case((8, 6))
def even_parts(_: torch.nn.Module, x: Tensor) -> Tensor:
    x = x + 1
    parts = torch.tensor_split(x, 3, dim=0)
    parts[1].zero_()
    return x + parts[1].sum()


class Writing(torch.nn.Module):
    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__()
        self.function = function
        values = torch.linspace(-1, 1, 48)
        self.register_buffer("cache", values.reshape(2, 6, 4).clone())
        self.register_buffer("count", torch.tensor([1.0, 4.0, 9.0]))

    def forward(self, *tensors: Tensor) -> object:
        return self.function(self, *tensors)


def sample_of(number: int, name: str, function: Callable[..., object], shapes: list[tuple[int, ...]]) -> Sample:
    generator = torch.Generator().manual_seed(number)
    inputs = [torch.randn(shape, generator=generator) for shape in shapes]
    # Exporting runs the program, which may change what it is given.
    program = torch.export.export(Writing(function), tuple(t.clone() for t in inputs), strict=False)
    named = dict(zip(program.graph_signature.user_inputs, inputs, strict=True))
    functional = program.run_decompositions()
    values = interpreter.run(functional, {name: t.clone() for name, t in named.items()}, widened=True)
    return Sample(f"writes.{name}", number, program, named, named_outputs(functional, values))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pack", type=Path, required=True, help="write this pack, NAME.jsonl.zst")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    samples = [sample_of(i, name, *given) for i, (name, given) in enumerate(CASES.items())]
    size = write_lines(arguments.pack, [line(sample, sample.outputs) for sample in samples])
    print(f"{arguments.pack}: {len(samples)} samples, {size} bytes")


if __name__ == "__main__":
    main()
