"""Choose what every parameter holds, so that errors show in the outputs.

With the usual initial weights (standard deviation 0.02) the blocks of a small
model hardly contribute and a wrong operator can hide. Here matrices keep the
variance of their input (fan-in gain), biases are not zero, and norm weights
lie around, not at, their neutral value. Every rule names what it is for; a
parameter that no rule knows is an error.
"""

from __future__ import annotations

import math

import torch
from transformers.pytorch_utils import Conv1D

from .draws import Draw, uniform

BIAS = Draw.around(0.0, 0.25)
EMBEDDING = Draw.around(0.0, 0.75)
# Gemma multiplies its embeddings by sqrt(hidden size).
SCALED_EMBEDDING = Draw.around(0.0, 0.25)
NORM_SPREAD = 0.4

SPECIAL: dict[str, Draw] = {
    # Mamba: A = -exp(A_log) in -[1.3, 15.6], as its own initialisation has it: the state decays.
    "A_log": Draw.around(1.5, 1.25),
    "D": Draw.around(1.0, 0.5),
    "dt_proj.bias": Draw.around(-2.0, 1.0),
    # Layer scales start at 1e-6 or 1, which would hide the branch or the multiplication.
    "layer_scale_parameter": Draw.around(0.75, 0.25),
    "lambda1": Draw.around(0.75, 0.25),
    # Weight norm: magnitude and direction.
    "weight.original0": Draw.around(1.0, 0.25),
    "weight.original1": Draw.around(0.0, 1.0),
    "running_mean": BIAS,
    "running_var": Draw.around(1.0, 0.5),
}
VECTORS_ADDED_TO_THE_STREAM = ("cls_token", "mask_token", "position_embeddings", "masked_spec_embed")


def matrix(fan_in: int, gain: float = 1.0) -> Draw:
    """Uniform with variance gain^2 / fan_in."""
    return Draw.around(0.0, math.sqrt(3.0 / fan_in) * gain)


def gain_of(module: torch.nn.Module, name: str) -> float:
    if type(module).__name__ == "MixtralTopKRouter":
        return 2.0  # routing weights that differ
    if type(module).__name__ == "Linear" and name.endswith("SelfAttention.q.weight"):
        return 0.25  # T5 does not divide scores by sqrt(16)
    if type(module).__name__ == "Linear" and name.endswith("EncDecAttention.q.weight"):
        return 0.25
    return 1.0


def draw_for(module: torch.nn.Module, name: str, tensor: torch.Tensor) -> Draw:
    """The draw of `tensor`, called `name` in the model and owned by `module`."""
    for suffix, draw in SPECIAL.items():
        if name.endswith("." + suffix):
            return draw
    kind = type(module).__name__
    if "Norm" in kind and name.endswith(".weight"):
        neutral = round(tensor.float().mean().item())  # 0 where the module computes 1 + weight
        return Draw.around(neutral, NORM_SPREAD)
    if name.endswith(".bias"):
        return BIAS
    if name.endswith(VECTORS_ADDED_TO_THE_STREAM):
        return EMBEDDING
    if isinstance(module, torch.nn.Embedding):
        return SCALED_EMBEDDING if "Scaled" in kind else EMBEDDING
    if isinstance(module, Conv1D):
        return matrix(tensor.shape[0])
    if isinstance(module, (torch.nn.Linear, torch.nn.modules.conv._ConvNd)):
        return matrix(math.prod(tensor.shape[1:]), gain_of(module, name))
    if kind in ("MixtralTopKRouter", "MixtralExperts"):
        return matrix(tensor.shape[-1], gain_of(module, name))
    raise ValueError(f"no rule for {name} of {kind}")


def assign(model: torch.nn.Module) -> tuple[dict[str, Draw], dict[str, str]]:
    """Fill the model; return the draws by name, and which names share another's storage."""
    draws: dict[str, Draw] = {}
    shared: dict[str, str] = {}
    first_with: dict[int, str] = {}
    for prefix, module in model.named_modules(remove_duplicate=False):
        owned = list(module.named_parameters(recurse=False))
        owned += [pair for pair in module.named_buffers(recurse=False) if pair[0].startswith("running_")]
        for short_name, tensor in owned:
            name = f"{prefix}.{short_name}" if prefix else short_name
            first = first_with.setdefault(tensor.data_ptr(), name)
            if first != name:
                shared[name] = first
                continue
            draws[name] = draw_for(module, name, tensor)
            with torch.no_grad():
                tensor.copy_(uniform(name, tuple(tensor.shape), draws[name]))
    return draws, shared
