"""Write the small .pt2 files that the reader's tests use, with torch.export.save itself.

    python3 core/io/testdata/make_testdata.py

Needs the PyTorch of sweeps/export/requirements.txt. Weights are made of small
integers, so that the tests can state them.
"""

from __future__ import annotations

from pathlib import Path

import torch

HERE = Path(__file__).parent
AUTO = torch.export.Dim.AUTO


def ramp(*shape: int, start: float = 0.0, step: float = 0.5) -> torch.Tensor:
    count = torch.Size(shape).numel()
    return (torch.arange(count, dtype=torch.float64) * step + start).reshape(shape).float()


class Tied(torch.nn.Module):
    """Tied weights, views of one storage, a mutated buffer, constants."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(10, 4)
        self.embedding.weight = torch.nn.Parameter(ramp(10, 4))
        self.head = torch.nn.Linear(4, 10, bias=False)
        self.head.weight = self.embedding.weight
        self.register_buffer("steps", torch.zeros(3))
        self.register_buffer("strided", torch.arange(12.0).reshape(3, 4).t()[1:], persistent=False)
        self.constant = torch.tensor([1.0, -2.0])

    def forward(self, ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        self.steps.add_(1)
        hidden = self.embedding(ids) + torch.tensor(3.0)
        return self.head(hidden), self.strided * self.constant.sum()


class Identity(torch.nn.Module):
    """No node at all; an output that is an input, one that is None, one that is a number."""

    def forward(self, x: torch.Tensor, y: torch.Tensor, scale: int, flag: None) -> tuple:
        return y, None, scale, x


class Dynamic(torch.nn.Module):
    def forward(self, x: torch.Tensor, ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, int]:
        batch = x.shape[0]
        doubled = torch.cat([x, x])
        return doubled[: batch // 2 + 1], ids.view(batch, -1) * (2 * batch + 1), batch


class Training(torch.nn.Module):
    """As torch.export.export leaves it: in-place operators, composite operators."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 2)
        self.linear.weight = torch.nn.Parameter(ramp(2, 4))
        self.linear.bias = torch.nn.Parameter(ramp(2))
        self.activation = torch.nn.ReLU(inplace=True)
        self.register_buffer("steps", torch.zeros(1, dtype=torch.int64))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        self.steps.add_(1)
        y = self.activation(self.linear(x))
        x.mul_(2)
        return y + torch.tensor(1.0), self.steps


class ViewMutation(torch.nn.Module):
    """Changes memory that a view still sees."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        first = y[0]
        y.mul_(2)
        return first


class Kinds(torch.nn.Module):
    """Kinds of arguments: infinities, dtypes, None in lists, booleans, strings, several results."""

    def forward(self, x: torch.Tensor, index: torch.Tensor) -> tuple:
        masked = x.masked_fill(x > 0, float("-inf"))
        rounded = torch.div(x, 3, rounding_mode="floor").to(torch.bfloat16)
        picked = x[:, index]
        first, second = x.split([1, 2], dim=1)
        values, places = x.topk(2, dim=-1, sorted=True)
        return masked, rounded, picked, second, values, places, torch.nn.functional.gelu(x, approximate="tanh")


class Control(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda v: v + 1, lambda v: v - 1, (x,))


@torch.library.custom_op("assay_testdata::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@twice.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


class Custom(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return twice(torch.linalg.eigvalsh(twice(x)))


def save(name: str, module: torch.nn.Module, inputs: tuple, decompose: bool = True, dynamic: tuple | None = None) -> None:
    program = torch.export.export(module.eval(), inputs, dynamic_shapes=dynamic)
    if decompose:
        program = program.run_decompositions()
    # Where a node came from, step by step: most of the file, and read by nobody here.
    for node in program.graph.nodes:
        node.meta.pop("from_node", None)
    path = HERE / f"{name}.pt2"
    torch.export.save(program, path)
    print(path.name, path.stat().st_size)


class Masked(torch.nn.Module):
    """A selection whose size depends on data, in the middle of the model."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x[x > 0].sum()


def main() -> None:
    ids = torch.tensor([[1, 2, 3], [4, 5, 6]])
    save("tied", Tied(), (ids,))
    save("identity", Identity(), (ramp(2), ramp(3), 7, None))
    save("dynamic", Dynamic(), (ramp(6, 4), torch.arange(12)), dynamic=({0: AUTO}, {0: AUTO}))
    save("training", Training(), (ramp(3, 4),), decompose=False)
    save("view_mutation", ViewMutation(), (ramp(2, 2),), decompose=False)
    save("kinds", Kinds(), (ramp(2, 3), torch.tensor([0, 2])))
    save("control", Control(), (ramp(2),))
    save("masked", Masked(), (ramp(2, 3, start=-1.0),))
    save("custom", Custom(), (ramp(2, 2),), decompose=False)


if __name__ == "__main__":
    main()
