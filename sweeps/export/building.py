"""Build a reduced model, and export it to Core ATen."""

from __future__ import annotations

from typing import Any

import torch
import transformers

from .architectures import Architecture


def build(architecture: Architecture) -> torch.nn.Module:
    """The model in evaluation mode, returning a tuple of tensors.

    `forward` is replaced on the instance rather than in a wrapper module:
    parameters keep the names that they have in a checkpoint.
    """
    model_class = getattr(transformers, architecture.model)
    options: dict[str, Any] = {"attn_implementation": architecture.attention}
    if architecture.experts:
        options["experts_implementation"] = architecture.experts
    config = model_class.config_class(**architecture.config, **options)
    for switch in ("use_cache", "output_attentions", "output_hidden_states"):
        if hasattr(config, switch):
            setattr(config, switch, False)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = model_class(config).eval()
    original = model.forward

    def forward(**inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        result = original(**inputs, return_dict=True)
        return tuple(result[name] for name in architecture.outputs)

    model.forward = forward
    return model.requires_grad_(False)


def export(model: torch.nn.Module, inputs: dict[str, torch.Tensor]) -> torch.export.ExportedProgram:
    with torch.no_grad():
        program = torch.export.export(model, (), inputs, strict=False)
        return program.run_decompositions()
