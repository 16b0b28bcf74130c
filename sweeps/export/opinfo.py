"""PyTorch's OpInfo samples as cases with fp64 expected values.

    python3 -m sweeps.export.opinfo --pack suites/witness/data/opinfo.jsonl.zst   the compact set that is committed
    python3 -m sweeps.export.opinfo --pack FILE.jsonl.zst --cap ELEMENTS          every sample up to that size
    python3 -m sweeps.export.opinfo --folder DIR [--cap ELEMENTS]                 the same as .pt2 files

`assay check FILE.jsonl.zst` and `assay check DIR` judge them. Each sample becomes a program of its operator alone,
exported and decomposed to Core ATen as a model would be (`--raw`: exported only), with the sample's tensors as inputs
and the graph's fp64 values (interpreter.py) as expected outputs. Left out, and counted by reason: entries without
float32 on CPU, sparse and linear-algebra entries, random ones, those that do not export (data-dependent shapes),
samples without a tensor, of dtypes or with operators that are not Assay's, and undefined ones. Each entry is exported
in a process of its own, since PyTorch crashes now and then. Needs the package `expecttest`, as PyTorch's tests do.
"""

from __future__ import annotations

import argparse
import collections
import fnmatch
import functools
import logging
import math
import multiprocessing
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import mpmath
import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo.core import OpInfo
from torch.utils._pytree import tree_flatten, tree_unflatten

from . import interpreter
from .make_pt2 import named_outputs
from .pack import Sample, as_pairs, line, write_lines
from .tensor_file import write

PACK_SAMPLES = 3
"""Samples of one OpInfo entry in the committed set."""
PACK_ELEMENTS = 128
"""Largest number of elements, inputs and outputs together, of a sample in the committed set."""
PACK_LARGEST = 2048
"""The same for the one sample of an entry that has none so small."""
FOLDER_CAP = 1 << 16
UNLIMITED = 1 << 30
RANDOM = (
    "rand", "normal", "bernoulli", "multinomial", "dropout", "uniform", "cauchy", "exponential", "geometric",
    "log_normal", "empty", "rrelu", "fractional_max_pool", "lowrank",
)
"""Parts of the names of entries whose values are drawn or undefined."""
ALGEBRA = (
    "linalg", "sparse", "cholesky", "svd", "qr", "geqrf", "ormqr", "lu", "triangular_solve", "logdet", "pinverse",
    "matrix_exp", "nuc",
)
BY_SERIES = {
    "special.airy_ai": mpmath.airyai,
    "special.bessel_j0": functools.partial(mpmath.besselj, 0),
    "special.bessel_j1": functools.partial(mpmath.besselj, 1),
    "special.bessel_y0": functools.partial(mpmath.bessely, 0),
    "special.bessel_y1": functools.partial(mpmath.bessely, 1),
    "special.ndtr": mpmath.ncdf,
}
"""Entries whose fp64 values are known to be wrong (docs/disagreements.md): mpmath's are taken."""
DTYPES = {
    torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
    torch.uint8, torch.bool, torch.complex64, torch.complex128,
}
"""Of the values of a graph."""


def entry_name(entry: OpInfo) -> str:
    return f"{entry.name}.{entry.variant_test_name}" if entry.variant_test_name else entry.name


def excluded(entry: OpInfo) -> str:
    """Why an entry is left out, "" if it is not."""
    words = entry_name(entry).replace(".", "_").split("_")
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


def unfit(entry: OpInfo, program: torch.export.ExportedProgram, inputs: dict[str, torch.Tensor]) -> str:
    """Why a sample has no right values or cannot be a case, "" if it can."""
    if program.range_constraints:
        return "data-dependent shapes"
    for node in program.graph.nodes:
        values = node.meta.get("val")
        for value in values if isinstance(values, (tuple, list)) else [values]:
            if isinstance(value, torch.Tensor) and value.dtype not in DTYPES:
                return f"dtype {value.dtype}"
        if not isinstance(node.target, torch._ops.OpOverload):
            continue
        if torch.Tag.nondeterministic_seeded in node.target.tags:
            return "random or undefined values"
        if node.target.namespace != "aten":
            return f"operator outside ATen: {node.target}"
    bins = [tensor for tensor in inputs.values() if tensor.dim() == 1]
    if "histogram" in entry.name and any((edges.diff() < 0).any() for edges in bins):
        return "edges of bins that do not increase"
    return ""


def program_of(
    entry: OpInfo, sample: Any, raw: bool
) -> tuple[torch.export.ExportedProgram, dict[str, torch.Tensor]] | None:
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
    program = torch.export.export(Call(), tuple(t.clone() for t in tensors), strict=False)
    if not raw:
        program = program.run_decompositions()
    names = program.graph_signature.user_inputs
    return program, dict(zip(names, tensors, strict=True))


def samples_of(
    entry: OpInfo, left_out: collections.Counter[str], cap: int, limit: int, raw: bool = False
) -> Iterator[Sample]:
    made = 0
    for number, sample in enumerate(entry.sample_inputs("cpu", torch.float32, requires_grad=False)):
        if made == limit:
            return
        leaves, _ = tree_flatten((sample.input, sample.args, sample.kwargs))
        if sum(leaf.numel() for leaf in leaves if isinstance(leaf, torch.Tensor)) > cap:
            left_out["larger than the cap"] += 1
            continue
        try:
            found = program_of(entry, sample, raw)
            if found is None:
                left_out["no tensor"] += 1
                continue
            program, inputs = found
            if reason := unfit(entry, program, inputs):
                left_out[reason] += 1
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


def expected_of(sample: Sample) -> dict[str, torch.Tensor]:
    function = BY_SERIES.get(sample.name)
    if function is None:
        return sample.outputs
    ((name, output),), (given,) = sample.outputs.items(), sample.inputs.values()
    pairs = zip(given.reshape(-1).tolist(), output.reshape(-1).tolist(), strict=True)
    # Poles and what lies outside the domain stay PyTorch's.
    values = [float(function(x)) if math.isfinite(x) and math.isfinite(y) else y for x, y in pairs]
    return {name: torch.tensor(values, dtype=torch.float64).reshape(output.shape)}


def lines_of(entry: OpInfo, left_out: collections.Counter[str], cap: int | None, raw: bool) -> list[str]:
    """Documents of the samples up to `cap`; None: of the compact set."""
    if cap is not None:
        made = list(samples_of(entry, left_out, cap, UNLIMITED, raw))
    else:
        made = list(samples_of(entry, left_out, PACK_ELEMENTS, PACK_SAMPLES, raw))
        made = made or list(samples_of(entry, left_out, PACK_LARGEST, 1, raw))
    return [line(sample, expected_of(sample)) for sample in made]


def apart(work: Callable[..., Any], entry: OpInfo, left_out: collections.Counter[str], *arguments: Any) -> Any:
    """work(entry, left_out, *arguments) in a process of its own; None if that dies."""

    def child(pipe: Any) -> None:
        counted: collections.Counter[str] = collections.Counter()
        pipe.send((work(entry, counted, *arguments), counted))

    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=child, args=(sender,))
    process.start()
    sender.close()
    try:
        result, counted = receiver.recv()
        left_out.update(counted)
    except EOFError:
        result = None
        left_out["entry: PyTorch crashed or raised"] += 1
        print(f"{entry_name(entry)}: PyTorch crashed or raised", flush=True)
    process.join()
    return result


def write_pack(path: Path, names: str, cap: int | None, raw: bool) -> None:
    left_out: collections.Counter[str] = collections.Counter()
    lines: list[str] = []
    for entry in entries(names, left_out):
        made = apart(lines_of, entry, left_out, cap, raw)
        lines += made or []
        if made == []:
            print(f"{entry_name(entry)}: no sample fits", flush=True)
    size = write_lines(path, lines)
    print(f"{path}: {len(lines)} samples, {size} bytes; left out: {dict(left_out)}")


def write_files(
    entry: OpInfo, left_out: collections.Counter[str], folder: Path, cap: int, raw: bool
) -> int:
    written = 0
    for sample in samples_of(entry, left_out, cap, UNLIMITED, raw):
        stem = folder / sample.name / str(sample.number)
        stem.parent.mkdir(parents=True, exist_ok=True)
        torch.export.save(sample.program, f"{stem}.pt2")
        write(Path(f"{stem}.in.safetensors"), {n: as_pairs(t) for n, t in sample.inputs.items()})
        write(Path(f"{stem}.out.safetensors"), {n: as_pairs(t) for n, t in expected_of(sample).items()})
        written += 1
    return written


def write_folder(folder: Path, names: str, cap: int, raw: bool) -> None:
    left_out: collections.Counter[str] = collections.Counter()
    written = sum(apart(write_files, entry, left_out, folder, cap, raw) or 0 for entry in entries(names, left_out))
    print(f"{folder}: {written} samples; left out: {dict(left_out)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pack", type=Path, help="write a pack, NAME.jsonl.zst")
    parser.add_argument("--folder", type=Path, help="write files below this folder")
    parser.add_argument("--cap", type=int, help="most elements of a sample (a pack without it: the compact set)")
    parser.add_argument("--raw", action="store_true", help="keep composite operators")
    parser.add_argument("--filter", default="*", help="glob on the names of OpInfo entries")
    arguments = parser.parse_args()
    if (arguments.pack is None) == (arguments.folder is None):
        parser.error("give one of --pack FILE and --folder DIR")
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)
    torch.set_num_threads(1)
    if arguments.pack:
        write_pack(arguments.pack, arguments.filter, arguments.cap, arguments.raw)
    else:
        write_folder(arguments.folder, arguments.filter, arguments.cap or FOLDER_CAP, arguments.raw)


if __name__ == "__main__":
    main()
