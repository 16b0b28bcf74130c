"""Write the catalogue: one graph and one golden file for each architecture.

    python3 -m sweeps.export.export --out sweeps/catalogue [IDS...]

With ids only those are written again, and architectures.csv is made anew from
all files that are there.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import torch
import transformers
import zstandard

from . import interpreter, tables
from .architectures import ARCHITECTURES, BY_ID, Architecture, Input
from .building import build, export
from .draws import Draw, data_entry, dtype_name
from .golden import write_golden
from .graph_json import model_json
from .replay import inputs_of
from .weights import assign

FORMAT = 1
F32_TOLERANCE = 1e-5
"""Largest f32 error, relative to the largest fp64 output, of a graph worth keeping."""


def input_entry(declared: Input) -> dict[str, Any]:
    entry: dict[str, Any] = {"dtype": "float32" if declared.high is None else "int64", "shape": list(declared.shape)}
    if declared.high is None:
        entry["draw"] = Draw.around(0.0, declared.scale).entry()
    else:
        entry["integers"] = {"low": 0, "high": declared.high}
    return entry


def weight_entries(
    program: torch.export.ExportedProgram, draws: dict[str, Draw], shared: dict[str, str]
) -> dict[str, Any]:
    """One entry for each parameter, buffer and constant of the signature."""
    entries: dict[str, Any] = {}
    for spec in program.graph_signature.input_specs:
        name = spec.target
        if name is None:
            continue
        tensor = program.constants[name] if name in program.constants else program.state_dict[name]
        if name in shared:
            entries[name] = {"same_as": shared[name]}
        elif name in draws:
            entries[name] = {
                "dtype": dtype_name(tensor.dtype),
                "shape": list(tensor.shape),
                "draw": draws[name].entry(),
            }
        else:
            entries[name] = data_entry(tensor)
    for name, entry in entries.items():
        if entry.get("same_as", name) not in entries:
            raise ValueError(f"{name} shares {entry['same_as']}, which the graph does not have")
    return entries


def check(
    program: torch.export.ExportedProgram,
    inputs: dict[str, torch.Tensor],
    narrow: list[torch.Tensor],
    wide: list[torch.Tensor],
) -> float:
    """Hold the interpreter against PyTorch's module, and f32 against fp64; return the largest error."""
    with torch.no_grad():
        expected = program.module()(**inputs)
    worst = 0.0
    for mine, theirs, exact in zip(narrow, expected, wide, strict=True):
        if not torch.equal(mine, theirs):
            raise ValueError("the interpreter and the exported module differ in f32")
        if not exact.isfinite().all():
            raise ValueError("an output is not finite")
        worst = max(worst, ((mine.double() - exact).abs().max() / exact.abs().max()).item())
    if worst > F32_TOLERANCE:
        raise ValueError(f"f32 is {worst:.1e} away from fp64")
    return worst


def compressed(model: dict[str, Any]) -> bytes:
    text = json.dumps(model, separators=(",", ":")).encode("utf-8")
    return zstandard.ZstdCompressor(level=19, write_content_size=True).compress(text)


def write_architecture(architecture: Architecture, out: Path) -> str:
    """Write both files; return a line about them."""
    model = build(architecture)
    draws, shared = assign(model)
    input_entries = {name: input_entry(declared) for name, declared in architecture.inputs.items()}
    inputs = inputs_of(input_entries)
    program = export(model, inputs)
    wide = interpreter.run(program, inputs, widened=True)
    narrow = interpreter.run(program, inputs, widened=False)
    worst = check(program, inputs, narrow, wide)

    document = model_json(program)
    document["assay"] = {
        "format": FORMAT,
        "id": architecture.id,
        "torch_version": torch.__version__,
        "transformers_version": transformers.__version__,
        "weights": weight_entries(program, draws, shared),
        "inputs": input_entries,
    }
    file = out / "models" / f"{architecture.id}.json.zst"
    file.write_bytes(compressed(document))
    write_golden(out / "golden" / f"{architecture.id}.safetensors", wide, [output.dtype for output in narrow])
    nodes = len(document["graph_module"]["graph"]["nodes"])
    peaks = " ".join(f"{output.abs().max().item():.3g}" for output in wide)
    return f"{architecture.id}: {nodes} nodes, {file.stat().st_size} bytes, f32 error {worst:.1e}, largest {peaks}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ids", nargs="*", metavar="ID", help="architectures; all if none is given")
    parser.add_argument("--out", type=Path, default=Path("sweeps/catalogue"))
    arguments = parser.parse_args()
    unknown = [id for id in arguments.ids if id not in BY_ID]
    if unknown:
        parser.error(f"unknown architecture: {', '.join(unknown)}; known: {', '.join(BY_ID)}")

    torch.set_num_threads(1)
    for folder in ("models", "golden"):
        (arguments.out / folder).mkdir(parents=True, exist_ok=True)
    for architecture in ARCHITECTURES:
        if not arguments.ids or architecture.id in arguments.ids:
            print(write_architecture(architecture, arguments.out), flush=True)
    tables.write_architectures(arguments.out)


if __name__ == "__main__":
    main()
