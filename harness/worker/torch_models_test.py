"""Whole models on the PyTorch worker. Those of sweeps/catalogue also need zstandard and NumPy."""

from __future__ import annotations

import importlib.util
import json
import sys
import unittest
import zipfile
from pathlib import Path
from typing import Any

from torch_test_case import Case, setUpModule, tearDownModule, torch  # noqa: F401
from torch_test_support import REPOSITORY, run_header
from torch_backend.frames import Frame, RawTensor
from torch_backend.tensors import to_raw, view_raw

# Compiling one takes as long as running all.
COMPILED_FILES = ("mlp_dynamic", "buffer_mutation", "constant")
COMPILED_MODELS = ("resnet",)


def read_safetensors(path: Path) -> dict[str, torch.Tensor]:
    names = {"F64": "f64", "F32": "f32", "BF16": "bf16", "F16": "f16", "I64": "i64", "I32": "i32", "BOOL": "bool"}
    raw = path.read_bytes()
    size = int.from_bytes(raw[:8], "little")
    tensors = {}
    for name, entry in json.loads(raw[8 : 8 + size]).items():
        if name != "__metadata__":
            begin, end = (8 + size + offset for offset in entry["data_offsets"])
            data = bytearray(raw[begin:end])
            tensors[name] = view_raw(RawTensor(names[entry["dtype"]], tuple(entry["shape"]), data))
    return tensors


class Models(Case):
    """Whole graphs as PyTorch writes them: fp64 results of another interpreter are met, and the local pass agrees."""

    def run_model(self, model: dict[str, Any], tensors: dict[str, torch.Tensor], mode: str) -> list[torch.Tensor]:
        graph = model["graph_module"]["graph"]
        outputs = [output["as_tensor"]["name"] for output in graph["outputs"]]
        text = json.dumps({key: value for key, value in model.items() if key != "assay"})
        raw = [to_raw(tensor) for tensor in tensors.values()]
        members = {"mode": mode, "free_nodes": list(range(len(graph["nodes"]))) if mode == "eager" else []}
        frame = self.worker.ask(run_header(text, tensors, outputs, **members), raw)
        self.assert_passed(frame.header)
        self.assertEqual(frame.header["residency"]["nodes"], 1.0)
        if mode == "eager" and len(graph["nodes"]) > 1:
            self.check_local_pass(graph, frame, text, tensors, outputs)
        return [view_raw(tensor) for tensor in frame.tensors[len(frame.tensors) - len(outputs) :]]

    def check_local_pass(
        self, graph: dict[str, Any], free: Frame, text: str, tensors: dict[str, torch.Tensor], outputs: list[str]
    ) -> None:
        names = []
        for entry in graph["nodes"]:
            for output in entry["outputs"]:
                ((kind, body),) = output.items()
                bodies = {"as_tensor": [body], "as_tensors": body}.get(kind, [])
                names += [item["name"] for item in bodies]
        chain = free.tensors[: len(names)]
        header = run_header(text, tensors, outputs, chain=names)
        local = self.worker.ask(header, [to_raw(tensor) for tensor in tensors.values()] + chain)
        self.assert_passed(local.header)
        self.assertEqual(sum(entry["local"] for entry in local.header["nodes"]), len(names))
        for got, want in zip(local.tensors, chain):
            # A copy is packed, a value of the free pass may be strided: kernels may sum in another order.
            torch.testing.assert_close(view_raw(got), view_raw(want), rtol=1e-4, atol=1e-5, equal_nan=True)

    def close(self, got: torch.Tensor, want: torch.Tensor, tolerance: float) -> None:
        self.assertEqual(got.shape, want.shape)
        scale = max(want.abs().max().item(), 1e-30) if want.numel() else 1.0
        self.assertLessEqual((got.double() - want.double()).abs().max().item(), tolerance * scale)

    def test_pt2_files(self) -> None:
        files = sorted((REPOSITORY / "sweeps/export/testdata").glob("*.pt2"))
        self.assertTrue(files)
        for path in files:
            for mode in ("eager", "compile") if path.stem in COMPILED_FILES else ("eager",):
                with self.subTest(path.name, mode=mode):
                    self.check_pt2(path, mode)

    def check_pt2(self, path: Path, mode: str) -> None:
        with zipfile.ZipFile(path) as archive:
            (name,) = [name for name in archive.namelist() if name.endswith("models/model.json")]
            model = json.loads(archive.read(name))
        program = torch.export.load(path)
        inputs = read_safetensors(path.with_suffix(".in.safetensors"))
        expected = read_safetensors(path.with_suffix(".out.safetensors"))
        tensors: dict[str, torch.Tensor] = {}
        for spec in program.graph_signature.input_specs:
            if spec.arg.name in inputs:
                tensors[spec.arg.name] = inputs[spec.arg.name]
            else:
                held = program.constants if spec.target in program.constants else program.state_dict
                tensors[spec.arg.name] = held[spec.target]
        got = self.run_model(model, tensors, mode)
        users = 0
        for spec, value in zip(program.graph_signature.output_specs, got, strict=True):
            kind = {"BUFFER_MUTATION": "buffer:", "USER_INPUT_MUTATION": "input:"}.get(spec.kind.name)
            key = f"{kind}{spec.target}" if kind else str(users)
            users += kind is None
            self.close(value, expected.pop(key), 2e-2 if value.dtype == torch.bfloat16 else 1e-5)
        self.assertEqual(expected, {})

    @unittest.skipUnless(importlib.util.find_spec("zstandard"), "zstandard is not installed")
    @unittest.skipUnless(importlib.util.find_spec("numpy"), "NumPy is not installed")
    def test_catalogue(self) -> None:
        sys.path.insert(0, str(REPOSITORY))
        from sweeps.export import interpreter
        from sweeps.export.replay import load
        from sweeps.export.tables import read_model

        files = sorted((REPOSITORY / "sweeps/catalogue/models").glob("*.json.zst"))
        self.assertEqual(len(files), 24)
        for path in files:
            with self.subTest(path.name):
                model = read_model(path)
                program, inputs = load(read_model(path))
                tensors: dict[str, torch.Tensor] = {}
                for spec in program.graph_signature.input_specs:
                    if spec.arg.name in inputs:
                        tensors[spec.arg.name] = inputs[spec.arg.name]
                    else:
                        held = program.constants if spec.target in program.constants else program.state_dict
                        tensors[spec.arg.name] = held[spec.target].detach()
                expected = interpreter.run(program, inputs, widened=True)
                for mode in ("eager", "compile") if model["assay"]["id"] in COMPILED_MODELS else ("eager",):
                    for got, want in zip(self.run_model(model, tensors, mode), expected, strict=True):
                        self.close(got, want, 1e-4)


if __name__ == "__main__":
    unittest.main()
