"""The committed training graphs: reproducible, and PyTorch's own gradients."""

import dataclasses
import json
import re
import tempfile
import unittest
from pathlib import Path

import torch
import zstandard

from sweeps.export import interpreter
from sweeps.export.architectures import BY_ID
from sweeps.export.joint import IDS, SLICE, WRONG, write_training
from sweeps.export.replay import load
from sweeps.export.tables import read_model
from sweeps.export.tests.test_catalogue import read_golden

JOINT = Path(__file__).resolve().parents[2] / "joint"


def error_of_file(id: str) -> tuple[float, float]:
    """Of the loss, and of the gradients, in fp64, relative to the largest of each."""
    metadata, expected = read_golden(JOINT / f"golden/{id}.safetensors")
    program, inputs = load(read_model(JOINT / f"models/{id}.json.zst"))
    outputs = interpreter.run(program, inputs, widened=True)
    errors = []
    for name, want in expected.items():
        got = outputs[int(name)].reshape(-1)[:: int(metadata[f"{name}.stride"])][:SLICE]
        errors.append(((got - want).abs().max() / float(metadata[f"{name}.max_abs"])).item())
    return errors[0], max(errors[1:], default=0.0)


class Committed(unittest.TestCase):
    def test_files_alone_give_the_gradients(self) -> None:
        for id in (*IDS, WRONG):
            for part in ("loss", "joint"):
                with self.subTest(f"{id}-{part}"):
                    self.assertLess(max(error_of_file(f"{id}-{part}")), 1e-9)

    def test_decomposed_fused_attention_gives_the_loss_and_wrong_gradients(self) -> None:
        loss, gradients = error_of_file(f"{WRONG}-wrong")
        self.assertLess(loss, 1e-12)
        self.assertGreater(gradients, 1)

    def test_frames_and_paths(self) -> None:
        for path in (JOINT / "models").iterdir():
            self.assertNotEqual(
                zstandard.get_frame_parameters(path.read_bytes()).content_size, zstandard.CONTENTSIZE_UNKNOWN
            )
            text = json.dumps(read_model(path))
            self.assertIsNone(re.search(r"/(usr|root|home|tmp|opt/python)/|site-packages", text), path.name)

    def test_exporting_again_gives_the_same_bytes(self) -> None:
        flash = dataclasses.replace(BY_ID["llama"], id=WRONG, attention="sdpa")
        for architecture in (BY_ID["gpt2"], BY_ID["resnet"], flash):
            with self.subTest(architecture.id), tempfile.TemporaryDirectory() as folder:
                out = Path(folder)
                for name in ("models", "golden"):
                    (out / name).mkdir()
                write_training(architecture, out, wrong=architecture is flash)
                for file in (out / "models").iterdir():
                    self.assertEqual(file.read_bytes(), (JOINT / "models" / file.name).read_bytes(), file.name)


if __name__ == "__main__":
    torch.set_num_threads(1)
    unittest.main()
