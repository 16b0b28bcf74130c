"""The committed catalogue: reproducible, complete, free of this machine's paths."""

import csv
import hashlib
import json
import re
import tempfile
import unittest
from pathlib import Path

import torch
import zstandard

from sweeps.export import interpreter
from sweeps.export.architectures import ARCHITECTURES, BY_ID
from sweeps.export.draws import quantise
from sweeps.export.export import write_architecture
from sweeps.export.golden import SLICE, stride_of
from sweeps.export.graph_json import short_module, short_source
from sweeps.export.replay import load
from sweeps.export.tables import HEADER, read_model

CATALOGUE = Path(__file__).resolve().parents[2] / "catalogue"


def read_golden(path: Path) -> tuple[dict[str, str], dict[str, torch.Tensor]]:
    raw = path.read_bytes()
    size = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + size])
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = (8 + size + offset for offset in entry["data_offsets"])
            tensors[name] = torch.frombuffer(bytearray(raw[begin:end]), dtype=torch.float64)
    return header["__metadata__"], tensors


class Committed(unittest.TestCase):
    def test_every_architecture_is_listed(self) -> None:
        with (CATALOGUE / "architectures.csv").open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(tuple(rows[0]), HEADER)
        self.assertEqual([row["id"] for row in rows], [architecture.id for architecture in ARCHITECTURES])
        for row in rows:
            self.assertTrue((CATALOGUE / row["file"]).is_file())
            self.assertTrue((CATALOGUE / row["golden"]).is_file())

    def test_frames_state_their_size(self) -> None:
        for path in (CATALOGUE / "models").iterdir():
            parameters = zstandard.get_frame_parameters(path.read_bytes())
            self.assertNotEqual(parameters.content_size, zstandard.CONTENTSIZE_UNKNOWN)

    def test_no_absolute_path(self) -> None:
        for path in (CATALOGUE / "models").iterdir():
            text = json.dumps(read_model(path))
            self.assertIsNone(re.search(r"/(usr|root|home|tmp|opt/python)/|site-packages", text), path.name)

    def test_every_input_of_the_graph_has_an_entry(self) -> None:
        names = {
            "parameter": "parameter_name",
            "buffer": "buffer_name",
            "tensor_constant": "tensor_constant_name",
        }
        for path in (CATALOGUE / "models").iterdir():
            model = read_model(path)
            about = model["assay"]
            users, weights = set(), set()
            for spec in model["graph_module"]["signature"]["input_specs"]:
                ((kind, body),) = spec.items()
                if kind == "user_input":
                    users.add(body["arg"]["as_tensor"]["name"])
                else:
                    weights.add(body[names[kind]])
            self.assertEqual(set(about["inputs"]), users, path.name)
            self.assertEqual(set(about["weights"]), weights, path.name)
            for entry in (*about["weights"].values(), *about["inputs"].values()):
                self.assertEqual(len({"draw", "integers", "data", "same_as"} & set(entry)), 1)
                for number in entry.get("draw", {}).values():
                    self.assertEqual(number, quantise(number))
                if other := entry.get("same_as"):
                    self.assertNotIn("same_as", about["weights"][other])

    def test_goldens_are_whole(self) -> None:
        for path in (CATALOGUE / "golden").iterdir():
            metadata, tensors = read_golden(path)
            for name, tensor in tensors.items():
                elements = torch.Size(json.loads(metadata[f"{name}.shape"])).numel()
                self.assertEqual(int(metadata[f"{name}.stride"]), stride_of(elements, SLICE))
                self.assertEqual(tensor.numel(), min(elements, SLICE))
                self.assertTrue(tensor.isfinite().all())
                self.assertLessEqual(tensor.abs().max().item(), float(metadata[f"{name}.max_abs"]))
                if elements <= SLICE:
                    digest = hashlib.sha256(tensor.numpy().tobytes()).hexdigest()
                    self.assertEqual(metadata[f"{name}.sha256"], digest)

    def test_files_alone_reproduce_the_goldens(self) -> None:
        for path in sorted((CATALOGUE / "models").iterdir()):
            model = read_model(path)
            with self.subTest(model["assay"]["id"]):
                metadata, expected = read_golden(CATALOGUE / f"golden/{model['assay']['id']}.safetensors")
                program, inputs = load(model)
                outputs = interpreter.run(program, inputs, widened=True)
                self.assertEqual(len(outputs), len(expected))
                for name, want in expected.items():
                    flat = outputs[int(name)].reshape(-1)
                    got = flat[:: int(metadata[f"{name}.stride"])][:SLICE]
                    # The last bits of fp64 depend on the machine's kernels: values, not digests.
                    self.assertLessEqual((got - want).abs().max(), 1e-12 * want.abs().max())

    def test_exporting_again_gives_the_same_bytes(self) -> None:
        for id in ("gpt2", "resnet", "t5"):
            with self.subTest(id), tempfile.TemporaryDirectory() as folder:
                out = Path(folder)
                for name in ("models", "golden"):
                    (out / name).mkdir()
                write_architecture(BY_ID[id], out)
                file = f"models/{id}.json.zst"
                self.assertEqual((out / file).read_bytes(), (CATALOGUE / file).read_bytes())


class Metadata(unittest.TestCase):
    def test_innermost_frame_outside_pytorch(self) -> None:
        trace = (
            'File "/x/lib/site-packages/transformers/models/vit/modeling_vit.py", line 12, in forward\n    a\n'
            '  File "/x/lib/site-packages/transformers/activations.py", line 34, in forward\n    b\n'
            '  File "/x/lib/site-packages/torch/nn/modules/linear.py", line 56, in forward\n    c'
        )
        self.assertEqual(short_source(trace), "transformers/activations.py:34")
        self.assertEqual(short_source(""), "")

    def test_innermost_module(self) -> None:
        stack = "L__self__,,a.B;L__self__h.0,h.0,a.C;L__self__h.0.mlp,h.0.mlp,a.D"
        self.assertEqual(short_module(stack), "h.0.mlp")
