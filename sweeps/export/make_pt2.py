"""Write demo models as a user would: NAME.pt2, NAME.in.safetensors, NAME.out.safetensors.

    python3 -m sweeps.export.make_pt2 FOLDER [NAMES...]

The expected outputs are fp64 results of the exported graph, keyed as
`assay check` wants them: `0`, `1`, … for outputs, `buffer:NAME` and
`input:NAME` for mutated state.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from torch.export.graph_signature import OutputKind

from . import interpreter
from .demos import DEMOS, Demo
from .tensor_file import write
from .weights import assign

REPOSITORY = Path(__file__).resolve().parent.parent.parent
SITE_PACKAGES = Path(torch.__file__).resolve().parent.parent


def export_demo(demo: Demo, inputs: dict[str, torch.Tensor]) -> torch.export.ExportedProgram:
    model = demo.model().eval()
    assign(model)
    program = torch.export.export(
        model.to(demo.dtype), (), inputs, dynamic_shapes=demo.dynamic, strict=False
    )
    if demo.decomposed:
        program = program.run_decompositions()
    # Graphs that are arguments of a node are modules below the program's.
    graphs = [module.graph for module in program.graph_module.modules() if isinstance(module, torch.fx.GraphModule)]
    for node in (node for graph in graphs for node in graph.nodes):
        # Source links of committed files must not tell where this repository or PyTorch was.
        if trace := node.meta.get("stack_trace"):
            if not demo.decomposed:
                trace = "\n".join(trace.splitlines()[-2:])  # the innermost frame: these files are for operators
            node.meta["stack_trace"] = trace.replace(f"{REPOSITORY}/", "").replace(f"{SITE_PACKAGES}/", "")
    return program


def named_outputs(program: torch.export.ExportedProgram, values: list[torch.Tensor]) -> dict[str, torch.Tensor]:
    """The graph's outputs under the names that an expected file uses."""
    named: dict[str, torch.Tensor] = {}
    for spec, value in zip(program.graph_signature.output_specs, values, strict=True):
        if spec.kind is OutputKind.BUFFER_MUTATION:
            named[f"buffer:{spec.target}"] = value
        elif spec.kind is OutputKind.USER_INPUT_MUTATION:
            named[f"input:{spec.target}"] = value
        else:
            named[str(sum(name.isdigit() for name in named))] = value
    # None and numbers count as outputs, but there is nothing to expect of them.
    return {name: value for name, value in named.items() if isinstance(value, torch.Tensor)}


def write_demo(folder: Path, name: str) -> None:
    demo = DEMOS[name]
    # Exporting a model that mutates its input may change the example; the files must hold what goes in.
    inputs = demo.inputs()
    program = export_demo(demo, demo.inputs())
    # Composite operators may hide casts, and in-place ones change what they read: the widened values are those
    # of the decomposed graph.
    functional = program if demo.decomposed else program.run_decompositions()
    outputs = interpreter.run(functional, inputs, widened=True)
    torch.export.save(program, folder / f"{name}.pt2")
    write(folder / f"{name}.in.safetensors", inputs)
    write(folder / f"{name}.out.safetensors", named_outputs(functional, outputs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(DEMOS)}; all if none is given")
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.names if name not in DEMOS]:
        parser.error(f"unknown demo: {', '.join(unknown)}")
    torch.set_num_threads(1)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name in arguments.names or DEMOS:
        write_demo(arguments.folder, name)


if __name__ == "__main__":
    main()
