"""The fp64 interpreter: same graph, same range, more precision."""

import unittest
from collections.abc import Callable

import torch

from sweeps.export import interpreter
from sweeps.export.demos import DEMOS
from sweeps.export.make_pt2 import export_demo, named_outputs


class Casting(torch.nn.Module):
    """A cast to fp32 in the code: `.double()` would keep it, the interpreter widens it."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x.double() / 3).to(torch.float32) * 3


class Overflowing(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 1e30 * 1e-30


def export(model: Callable[..., torch.Tensor], **inputs: torch.Tensor) -> torch.export.ExportedProgram:
    return torch.export.export(model, (), inputs, strict=False).run_decompositions()


class Interpreter(unittest.TestCase):
    def test_narrow_equals_pytorch(self) -> None:
        for name in ("mlp", "mlp_bf16", "mlp_dynamic", "transformer_block", "output_is_input", "constant"):
            with self.subTest(name):
                program = export_demo(DEMOS[name], DEMOS[name].inputs())
                expected = program.module()(**DEMOS[name].inputs())
                mine = interpreter.run(program, DEMOS[name].inputs(), widened=False)
                theirs = expected if isinstance(expected, tuple) else (expected,)
                for got, want in zip(mine, theirs, strict=True):
                    self.assertTrue(torch.equal(got, want))

    def test_mutated_state_is_named(self) -> None:
        program = export_demo(DEMOS["buffer_mutation"], DEMOS["buffer_mutation"].inputs())
        named = named_outputs(program, interpreter.run(program, DEMOS["buffer_mutation"].inputs(), widened=True))
        self.assertEqual(sorted(named), ["0", "buffer:calls", "buffer:total"])
        self.assertEqual(named["buffer:calls"].item(), 4)
        self.assertEqual(named["buffer:total"].dtype, torch.float64)

        program = export_demo(DEMOS["input_mutation"], DEMOS["input_mutation"].inputs())
        named = named_outputs(program, interpreter.run(program, DEMOS["input_mutation"].inputs(), widened=True))
        self.assertEqual(sorted(named), ["0", "input:x"])

    def test_casts_in_the_graph_are_widened(self) -> None:
        x = torch.tensor([1.0, 7.0])
        (result,) = interpreter.run(export(Casting(), x=x), {"x": x}, widened=True)
        self.assertEqual(result.dtype, torch.float64)
        self.assertTrue(torch.equal(result, (x.double() / 3) * 3))

    def test_range_stays_that_of_the_dtype(self) -> None:
        x = torch.tensor([1.0, 1e10, -1e10])
        (result,) = interpreter.run(export(Overflowing(), x=x), {"x": x}, widened=True)
        self.assertEqual(result.tolist()[1:], [float("inf"), float("-inf")])
        self.assertAlmostEqual(result[0].item(), 1.0, places=12)
