"""PyTorch's OpInfo samples as cases with fp64 expected values.

    python3 -m sweeps.export.opinfo --pack suites/witness/data/opinfo.jsonl.zst     the compact set that is committed
    python3 -m sweeps.export.opinfo --folder DIR [--cap ELEMENTS] [--filter GLOB]   every sample, for `assay check DIR`

Each sample becomes a program of its operator alone, exported and decomposed
to Core ATen as a model would be, with the sample's tensors as inputs and the
graph's fp64 values (interpreter.py) as expected outputs. `--cap` leaves out
samples whose tensors hold more elements. Left out, and counted by reason:
entries without float32 on CPU, sparse and linear-algebra entries, random
ones, those that do not export (data-dependent shapes), and samples without a
tensor. Needs the package `expecttest`, which PyTorch's own tests need.
"""

from __future__ import annotations

import argparse
import collections
import fnmatch
import json
import logging
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import zstandard
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import OpInfo
from torch.utils._pytree import tree_flatten, tree_unflatten

from . import interpreter
from .draws import data_entry
from .graph_json import model_json
from .make_pt2 import named_outputs
from .tensor_file import write

FORMAT = 1
PACK_SAMPLES = 3
"""Samples of one OpInfo entry in the committed set."""
PACK_ELEMENTS = 128
"""Largest number of elements, inputs and outputs together, of a sample in the committed set."""
PACK_LARGEST = 2048
"""The same for the one sample of an entry that has none so small."""
RANDOM = (
    "rand", "normal", "bernoulli", "multinomial", "dropout", "uniform", "cauchy", "exponential", "geometric",
    "log_normal", "empty", "rrelu", "fractional_max_pool", "lowrank",
)
"""Parts of the names of entries whose values are drawn or undefined."""
ALGEBRA = ("linalg", "sparse", "cholesky", "svd", "qr", "geqrf", "ormqr", "lu", "triangular_solve", "logdet", "pinverse")


@dataclass
class Sample:
    name: str
    number: int
    program: torch.export.ExportedProgram
    inputs: dict[str, torch.Tensor]
    outputs: dict[str, torch.Tensor]

    def elements(self) -> int:
        return sum(t.numel() for t in (*self.inputs.values(), *self.outputs.values()))


def entry_name(entry: OpInfo) -> str:
    return f"{entry.name}.{entry.variant_test_name}" if entry.variant_test_name else entry.name


def excluded(entry: OpInfo) -> str:
    """Why an entry is left out, "" if it is not."""
    words = entry.name.replace(".", "_").split("_")
    if torch.float32 not in entry.supported_dtypes("cpu"):
        return "no float32 on CPU"
    if any(word in entry.name for word in RANDOM):
        return "random or undefined values"
    if any(word in words if len(word) < 4 else word in entry.name for word in ALGEBRA):
        return "sparse or linear algebra"
    return ""


def entries(names: str, left_out: collections.Counter[str]) -> Iterator[OpInfo]:
    for entry in op_db:
        if not fnmatch.fnmatch(entry_name(entry), names):
            continue
        if reason := excluded(entry):
            left_out[f"entry: {reason}"] += 1
            continue
        yield entry


def program_of(entry: OpInfo, sample: Any) -> tuple[torch.export.ExportedProgram, dict[str, torch.Tensor]] | None:
    """The sample as a program and its inputs by name; None without a tensor."""
    leaves, spec = tree_flatten((sample.input, sample.args, sample.kwargs))
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
    if not places:
        return None

    class Call(torch.nn.Module):
        def forward(self, *tensors: torch.Tensor) -> Any:
            filled = list(leaves)
            for place, tensor in zip(places, tensors, strict=True):
                filled[place] = tensor
            first, args, kwargs = tree_unflatten(filled, spec)
            # Named tuples of results have no name that an archive could hold.
            return tuple(tree_flatten(entry.op(first, *args, **kwargs))[0])

    # Values only: strides of a sample are no part of a graph (tensors are logically contiguous).
    tensors = [leaves[place].detach().clone(memory_format=torch.contiguous_format) for place in places]
    program = torch.export.export(Call(), tuple(t.clone() for t in tensors), strict=False).run_decompositions()
    names = program.graph_signature.user_inputs
    return program, dict(zip(names, tensors, strict=True))


def samples_of(entry: OpInfo, left_out: collections.Counter[str], cap: int, limit: int) -> Iterator[Sample]:
    made = 0
    for number, sample in enumerate(entry.sample_inputs("cpu", torch.float32, requires_grad=False)):
        if made == limit:
            return
        leaves, _ = tree_flatten((sample.input, sample.args, sample.kwargs))
        if sum(leaf.numel() for leaf in leaves if isinstance(leaf, torch.Tensor)) > cap:
            left_out["larger than the cap"] += 1
            continue
        try:
            found = program_of(entry, sample)
            if found is None:
                left_out["no tensor"] += 1
                continue
            program, inputs = found
            if program.range_constraints:
                left_out["data-dependent shapes"] += 1
                continue
            values = interpreter.run(program, inputs, widened=True)
            made_sample = Sample(entry_name(entry), number, program, inputs, named_outputs(program, values))
        except Exception as error:  # noqa: BLE001  PyTorch refuses in many ways; each is counted
            left_out[f"not exported: {type(error).__name__}"] += 1
            continue
        if not made_sample.outputs or made_sample.elements() > cap:
            left_out["larger than the cap" if made_sample.outputs else "no output tensor"] += 1
            continue
        made += 1
        yield made_sample


def as_pairs(tensor: torch.Tensor) -> torch.Tensor:
    """Complex as a real view with a last dimension of 2."""
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor


def document(sample: Sample) -> dict[str, Any]:
    """A catalogue document (core/io/catalogue.cpp) with given inputs and expected outputs."""
    model = model_json(sample.program)
    weights = {**sample.program.state_dict, **sample.program.constants}
    model["assay"] = {
        "format": FORMAT,
        "id": f"opinfo/{sample.name}/{sample.number}",
        "weights": {
            spec.target: data_entry(weights[spec.target])
            for spec in sample.program.graph_signature.input_specs
            if spec.target is not None
        },
        "inputs": {name: data_entry(tensor) for name, tensor in sample.inputs.items()},
        "expected": {name: data_entry(as_pairs(tensor)) for name, tensor in sample.outputs.items()},
    }
    return model


def write_pack(path: Path, names: str) -> None:
    left_out: collections.Counter[str] = collections.Counter()
    lines = []
    for entry in entries(names, left_out):
        made = [document(s) for s in samples_of(entry, left_out, PACK_ELEMENTS, PACK_SAMPLES)]
        if not made:
            made = [document(s) for s in samples_of(entry, left_out, PACK_LARGEST, 1)]
        lines += [json.dumps(model, separators=(",", ":")) for model in made]
        if not made:
            print(f"{entry_name(entry)}: no sample fits", flush=True)
    text = "".join(line + "\n" for line in lines).encode("utf-8")
    packed = zstandard.ZstdCompressor(level=19, write_content_size=True).compress(text)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(packed)
    print(f"{path}: {len(lines)} samples, {len(packed)} bytes; left out: {dict(left_out)}")


def write_folder(folder: Path, names: str, cap: int) -> None:
    left_out: collections.Counter[str] = collections.Counter()
    written = 0
    for entry in entries(names, left_out):
        for sample in samples_of(entry, left_out, cap, limit=1 << 30):
            stem = folder / sample.name / str(sample.number)
            stem.parent.mkdir(parents=True, exist_ok=True)
            torch.export.save(sample.program, f"{stem}.pt2")
            write(Path(f"{stem}.in.safetensors"), {n: as_pairs(t) for n, t in sample.inputs.items()})
            write(Path(f"{stem}.out.safetensors"), {n: as_pairs(t) for n, t in sample.outputs.items()})
            written += 1
    print(f"{folder}: {written} samples; left out: {dict(left_out)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pack", type=Path, help="write the compact set to this file")
    parser.add_argument("--folder", type=Path, help="write every sample below this folder")
    parser.add_argument("--cap", type=int, default=1 << 16, help="with --folder: most elements of a sample")
    parser.add_argument("--filter", default="*", help="glob on the names of OpInfo entries")
    arguments = parser.parse_args()
    if (arguments.pack is None) == (arguments.folder is None):
        parser.error("give one of --pack FILE and --folder DIR")
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)
    torch.set_num_threads(1)
    if arguments.pack:
        write_pack(arguments.pack, arguments.filter)
    else:
        write_folder(arguments.folder, arguments.filter, arguments.cap)


if __name__ == "__main__":
    main()
