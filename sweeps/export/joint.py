"""Write training graphs: a loss, and PyTorch's joint graph of it and of every gradient.

    python3 -m sweeps.export.joint --out sweeps/joint [IDS...]

For each architecture `ID-loss` is the exported model with a scalar loss, and
`ID-joint` what PyTorch's autograd makes of it: the loss, then the gradient of
every parameter, in the order in which the graph takes them. Golden numbers
are PyTorch's autograd in fp64 through the graph of the loss.
"""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path
from typing import Any

import torch
import transformers
from torch.export.graph_signature import InputKind
from torch.fx.experimental.proxy_tensor import make_fx

from . import interpreter, tables
from .architectures import BY_ID, Architecture
from .building import build
from .export import FORMAT, compressed, input_entry, weight_entries
from .golden import write_golden
from .graph_json import model_json
from .replay import inputs_of
from .weights import assign

SLICE = 48
"""Elements of each gradient that are stored."""
TOLERANCE = 1e-9
"""Largest error of the joint graph in fp64, relative to the largest element of a gradient."""

IDS = ("llama", "qwen3", "gpt2", "bert", "vit", "mixtral", "mamba", "resnet", "t5")

WRONG = "llama-flash"
"""Through fused attention. PyTorch's decomposition of its forward pass, which is what a training step that was traced
with Core ATen decompositions holds, leaves a logsumexp that its backward pass reads as something else."""


def loss_of(architecture: Architecture, outputs: tuple[torch.Tensor, ...], inputs: dict[str, torch.Tensor]) -> Any:
    """Next tokens of language models, the same ones of encoders; otherwise mean squares."""
    if outputs[0].shape[-1] == architecture.config.get("vocab_size") and "input_ids" in inputs:
        labels = inputs.get("decoder_input_ids", inputs["input_ids"])
        logits = outputs[0]
        if architecture.kind != "encoder":
            logits, labels = logits[:, :-1], labels[:, 1:]
        return torch.nn.functional.cross_entropy(logits.flatten(0, -2), labels.flatten())
    return sum(output.square().mean() for output in outputs)


def with_loss(architecture: Architecture, model: torch.nn.Module) -> torch.nn.Module:
    original = model.forward

    def forward(**inputs: torch.Tensor) -> tuple[torch.Tensor]:
        return (loss_of(architecture, original(**inputs), inputs),)

    model.forward = forward
    return model.requires_grad_(True)


def exported(model: torch.nn.Module, inputs: dict[str, torch.Tensor]) -> torch.export.ExportedProgram:
    return torch.export.export(model, (), inputs, strict=False)


def used_parameters(program: torch.export.ExportedProgram, shared: dict[str, str]) -> list[str]:
    """Names in the order of the graph's inputs, of those that something reads; tied ones once."""
    used = {node.name for node in program.graph.nodes if node.op == "placeholder" and node.users}
    specs = [spec for spec in program.graph_signature.input_specs if spec.kind is InputKind.PARAMETER]
    read = {shared.get(spec.target, spec.target) for spec in specs if spec.arg.name in used}
    names = dict.fromkeys(shared.get(spec.target, spec.target) for spec in specs)
    return [name for name in names if name in read]


def joint_program(
    model: torch.nn.Module, inputs: dict[str, torch.Tensor], names: list[str]
) -> torch.export.ExportedProgram:
    """Loss and gradients by PyTorch's autograd, traced node by node."""
    module = exported(model, inputs).module()

    def step(parameters: dict[str, torch.Tensor], given: dict[str, torch.Tensor]) -> tuple[torch.Tensor, ...]:
        leaves = {name: tensor.detach().requires_grad_(True) for name, tensor in parameters.items()}
        (loss,) = torch.func.functional_call(module, leaves, (), given)
        return (loss, *torch.autograd.grad(loss, [leaves[name] for name in names]))

    parameters = dict(module.named_parameters())
    traced = make_fx(step, tracing_mode="real")(parameters, inputs)
    for node in traced.graph.nodes:
        if node.target is torch.ops.aten.view.default:
            node.target = torch.ops.aten.reshape.default  # strides of real tensors and traced ones may differ
    traced.recompile()

    # The traced function in the place of the model's own, so that parameters keep their names.
    def forward(**given: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(traced({name: model.get_parameter(name) for name in parameters}, given))

    original, model.forward = model.forward, forward
    try:
        with torch.no_grad():
            return exported(model, inputs)
    finally:
        model.forward = original


def golden_outputs(
    program: torch.export.ExportedProgram,
    inputs: dict[str, torch.Tensor],
    names: list[str],
    shared: dict[str, str],
) -> list[torch.Tensor]:
    """The loss and its gradients in fp64, by autograd through the graph."""
    leaves: dict[str, torch.Tensor] = {}
    values = []
    for spec in program.graph_signature.input_specs:
        if spec.kind is InputKind.USER_INPUT:
            values.append(interpreter.widen(inputs[spec.arg.name]))
            continue
        holder = program.constants if spec.target in program.constants else program.state_dict
        value = interpreter.widen(holder[spec.target].detach())
        name = shared.get(spec.target, spec.target)
        if name in names:
            value = leaves.setdefault(name, value.clone().requires_grad_(True))
        values.append(value)
    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        (loss,) = interpreter.Interpreter(program, widened=True).run(*values)
        return [loss.detach(), *torch.autograd.grad(loss, [leaves[name] for name in names])]
    finally:
        torch.set_default_dtype(default)


def worst_error(got: list[torch.Tensor], want: list[torch.Tensor]) -> float:
    return max(((a - b).abs().max() / b.abs().max()).item() for a, b in zip(got, want, strict=True))


def document_of(
    id: str, program: torch.export.ExportedProgram, inputs: dict[str, Any], drawn: tuple[dict, dict]
) -> dict[str, Any]:
    document = model_json(program)
    document["assay"] = {
        "format": FORMAT,
        "id": id,
        "torch_version": torch.__version__,
        "transformers_version": transformers.__version__,
        "weights": weight_entries(program, *drawn),
        "inputs": inputs,
    }
    return document


def write(id: str, document: dict[str, Any], out: Path) -> int:
    file = out / "models" / f"{id}.json.zst"
    file.write_bytes(compressed(document))
    return file.stat().st_size


def write_training(architecture: Architecture, out: Path, wrong: bool = False) -> str:
    """Write the graphs of one architecture; return a line about them."""
    model = with_loss(architecture, build(architecture))
    drawn = assign(model)
    input_entries = {name: input_entry(declared) for name, declared in architecture.inputs.items()}
    inputs = inputs_of(input_entries)
    loss = exported(model, inputs).run_decompositions()
    names = used_parameters(loss, drawn[1])
    joint = joint_program(model, inputs, names)
    if used_parameters(joint, drawn[1]) != names:
        raise ValueError("the joint graph reads other parameters than the loss")
    golden = golden_outputs(loss, inputs, names, drawn[1])
    functional = joint.run_decompositions({})
    error = worst_error(interpreter.run(functional, inputs, widened=True), golden)
    if error > TOLERANCE:
        raise ValueError(f"{architecture.id}: the joint graph is {error:.1e} away from autograd")
    sizes = [
        write(f"{architecture.id}-loss", document_of(f"{architecture.id}-loss", loss, input_entries, drawn), out),
        write(f"{architecture.id}-joint", document_of(f"{architecture.id}-joint", functional, input_entries, drawn), out),
    ]
    dtypes = [torch.float32] * len(golden)
    write_golden(out / "golden" / f"{architecture.id}-loss.safetensors", golden[:1], dtypes[:1], SLICE)
    write_golden(out / "golden" / f"{architecture.id}-joint.safetensors", golden, dtypes, SLICE)
    line = f"{architecture.id}: {len(names)} gradients, {sizes} bytes, joint graph's error {error:.1e}"
    if not wrong:
        return line
    decomposed = joint.run_decompositions()
    outputs = interpreter.run(decomposed, inputs, widened=True)
    write_golden(out / "golden" / f"{architecture.id}-wrong.safetensors", golden, dtypes, SLICE)
    write(f"{architecture.id}-wrong", document_of(f"{architecture.id}-wrong", decomposed, input_entries, drawn), out)
    return f"{line}; decomposed: loss {worst_error(outputs[:1], golden[:1]):.1e}, gradients {worst_error(outputs[1:], golden[1:]):.1e}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ids", nargs="*", metavar="ID", help="architectures; all if none is given")
    parser.add_argument("--out", type=Path, default=Path("sweeps/joint"))
    arguments = parser.parse_args()
    known = (*IDS, WRONG)
    unknown = [id for id in arguments.ids if id not in known]
    if unknown:
        parser.error(f"unknown architecture: {', '.join(unknown)}; known: {', '.join(known)}")
    torch.set_num_threads(1)
    for folder in ("models", "golden"):
        (arguments.out / folder).mkdir(parents=True, exist_ok=True)
    flash = dataclasses.replace(BY_ID["llama"], id=WRONG, attention="sdpa")
    chosen = {**{id: BY_ID[id] for id in IDS}, WRONG: flash}
    for id in arguments.ids or known:
        print(write_training(chosen[id], arguments.out, wrong=id == WRONG), flush=True)
    rows = [(f"{id}-{part}", architecture) for id, architecture in chosen.items() for part in ("loss", "joint")]
    tables.write_table(arguments.out / "training.csv", rows)
    tables.write_table(arguments.out / "wrong.csv", [(f"{WRONG}-wrong", flash)])


if __name__ == "__main__":
    main()
