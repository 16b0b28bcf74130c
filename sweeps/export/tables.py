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


def row(architecture: Architecture, model: dict[str, Any], id: str = "") -> list[str | int]:
    """`id` if it is not the architecture's. `inputs` is `name:dtype[shape]`, joined by spaces; `parameters` counts drawn elements, shared ones once."""
    about = model["assay"]
    inputs = " ".join(
        f"{name}:{entry['dtype']}[{','.join(map(str, entry['shape']))}]" for name, entry in about["inputs"].items()
    )
    drawn = [entry for entry in about["weights"].values() if "draw" in entry]
    id = id or architecture.id
    return [
        id,
        architecture.kind,
        architecture.model,
        architecture.attention,
        f"models/{id}.json.zst",
        f"golden/{id}.safetensors",
        inputs,
        len(model["graph_module"]["graph"]["nodes"]),
        sum(math.prod(entry["shape"]) for entry in drawn),
    ]


def write_table(table: Path, entries: list[tuple[str, Architecture]]) -> None:
    """Rows of those (id, architecture) that lie beside the table."""
    with table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        for id, architecture in entries:
            path = table.parent / "models" / f"{id}.json.zst"
            if path.exists():
                writer.writerow(row(architecture, read_model(path), id))


def write_architectures(catalogue: Path) -> None:
    write_table(catalogue / "architectures.csv", [(architecture.id, architecture) for architecture in ARCHITECTURES])
