"""Packs: cases with stored inputs and fp64 expected values, one a line (docs/witness.md)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import zstandard

from .draws import data_entry
from .graph_json import model_json

FORMAT = 1


@dataclass
class Sample:
    name: str
    number: int
    program: torch.export.ExportedProgram
    inputs: dict[str, torch.Tensor]
    outputs: dict[str, torch.Tensor]

    def elements(self) -> int:
        return sum(t.numel() for t in (*self.inputs.values(), *self.outputs.values()))


def as_pairs(tensor: torch.Tensor) -> torch.Tensor:
    """Complex as a real view with a last dimension of 2."""
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor


def document(sample: Sample, expected: dict[str, torch.Tensor]) -> dict[str, Any]:
    """A catalogue document (core/io/catalogue.cpp) with given inputs and expected outputs."""
    model = model_json(sample.program)
    weights = {**sample.program.state_dict, **sample.program.constants}
    model["assay"] = {
        "format": FORMAT,
        "id": f"{sample.name}/{sample.number}",
        "weights": {
            spec.target: data_entry(weights[spec.target])
            for spec in sample.program.graph_signature.input_specs
            if spec.target is not None
        },
        "inputs": {name: data_entry(tensor) for name, tensor in sample.inputs.items()},
        "expected": {name: data_entry(as_pairs(tensor)) for name, tensor in expected.items()},
    }
    return model


def line(sample: Sample, expected: dict[str, torch.Tensor]) -> str:
    return json.dumps(document(sample, expected), separators=(",", ":"))


def write_lines(path: Path, lines: list[str]) -> int:
    """The pack's size in bytes."""
    text = "".join(each + "\n" for each in lines).encode("utf-8")
    packed = zstandard.ZstdCompressor(level=19, write_content_size=True).compress(text)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(packed)
    return len(packed)
