"""What the tests of the PyTorch worker share: one worker process, and a case that runs graphs on it.

Importing this ends the process with status 77 (skipped) where PyTorch is missing.
"""

from __future__ import annotations

import logging
import sys
import unittest
from typing import Any

from torch_test_support import Worker, graph_json, run_header

try:
    import torch
except Exception as error:  # a broken installation fails with anything from ImportError to OSError
    print(f"skipped: PyTorch cannot be imported ({error})")
    sys.exit(77)

from torch_backend.frames import Frame
from torch_backend.tensors import to_raw, view_raw


def floats(*shape: int) -> torch.Tensor:
    return torch.linspace(-1.5, 1.25, torch.Size(shape).numel()).reshape(shape)


def declared(tensors: dict[str, torch.Tensor]) -> dict[str, tuple[str, tuple[int, ...]]]:
    raw = {name: to_raw(tensor) for name, tensor in tensors.items()}
    return {name: (tensor.dtype, tensor.shape) for name, tensor in raw.items()}


logging.disable(logging.WARNING)  # PyTorch's exporter remarks on symbols; the worker's own noise is checked below

worker: Worker  # one process for most tests: importing PyTorch and its compiler takes longer than all of them


def setUpModule() -> None:
    global worker
    worker = Worker()
    unittest.addModuleCleanup(worker.kill)


def tearDownModule() -> None:
    status, noise = worker.end()
    assert (status, noise) == (0, ""), (status, noise)


class Case(unittest.TestCase):
    """Greets anew for each class, which gives it its own options."""

    options: dict[str, str] = {}

    @classmethod
    def setUpClass(cls) -> None:
        cls.worker = worker
        answer = worker.hello(options={"threads": "2", **cls.options})
        assert answer["type"] == "hello", answer

    def request(
        self, inputs: dict[str, torch.Tensor], nodes: list[dict[str, Any]], outputs: list[str], **members: Any
    ) -> Frame:
        graph = graph_json(declared(inputs), nodes, outputs, members.pop("results", None))
        header = run_header(graph, inputs, outputs, **members)
        return self.worker.ask(header, [to_raw(tensor) for tensor in inputs.values()])

    def run_graph(self, *args: Any, **members: Any) -> tuple[dict[str, Any], list[torch.Tensor]]:
        frame = self.request(*args, **members)
        self.assertEqual(frame.header["type"], "result", frame.header)
        return frame.header, [view_raw(raw) for raw in frame.tensors]

    def assert_passed(self, header: dict[str, Any]) -> None:
        self.assertIsNone(header["failure"], header["detail"])
        self.assertEqual(header["guard_violation"], "")
