"""architectures.csv, made from the catalogue's own files (RFC 4180)."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import zstandard

from .architectures import ARCHITECTURES, Architecture

HEADER = ("id", "kind", "model", "attention", "file", "golden", "inputs", "nodes", "parameters")


def read_model(path: Path) -> dict[str, Any]:
    return json.loads(zstandard.ZstdDecompressor().decompress(path.read_bytes()))


def row(architecture: Architecture, model: dict[str, Any]) -> list[str | int]:
    """`inputs` is `name:dtype[shape]`, joined by spaces; `parameters` counts drawn elements, shared ones once."""
    about = model["assay"]
    inputs = " ".join(
        f"{name}:{entry['dtype']}[{','.join(map(str, entry['shape']))}]" for name, entry in about["inputs"].items()
    )
    drawn = [entry for entry in about["weights"].values() if "draw" in entry]
    return [
        architecture.id,
        architecture.kind,
        architecture.model,
        architecture.attention,
        f"models/{architecture.id}.json.zst",
        f"golden/{architecture.id}.safetensors",
        inputs,
        len(model["graph_module"]["graph"]["nodes"]),
        sum(math.prod(entry["shape"]) for entry in drawn),
    ]


def write_architectures(catalogue: Path) -> None:
    with (catalogue / "architectures.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        for architecture in ARCHITECTURES:
            path = catalogue / "models" / f"{architecture.id}.json.zst"
            if path.exists():
                writer.writerow(row(architecture, read_model(path)))
