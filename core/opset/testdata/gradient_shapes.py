"""Write gradient_shapes.json: as shape_calls.py, for backward operators, losses and recurrent layers.

    python3 core/opset/testdata/gradient_shapes.py > core/opset/testdata/gradient_shapes.json

Written with torch 2.13.0+cpu.
"""

from __future__ import annotations

import json
import os

import torch
from call_shapes import T, calls, write
from call_shapes import call as call_here

X = T("f32", 2, 3, 6, 5)


def call(*args) -> None:
    """In a process of its own: many backward kernels check nothing, and read and write where bad shapes lead them."""
    read, write = os.pipe()
    if os.fork() == 0:
        os.close(read)
        call_here(*args)
        with os.fdopen(write, "w") as pipe:
            pipe.write(json.dumps(calls[-1]))
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    os.wait()
    if text:
        calls.append(json.loads(text))


def activations() -> None:
    slopes = {
        "hardsigmoid": [],
        "hardswish": [],
        "mish": [],
        "hardtanh": [-1, 1],
        "leaky_relu": [0.1, False],
        "logit": [],
        "softplus": [1, 20],
        "softshrink": [0.5],
        "hardshrink": [0.5],
    }
    for name, more in slopes.items():
        for g, x in ((X, X), (T("f32", 2, 3), T("f32", 2, 4)), (T("f64", 2), T("f64", 2)), (T("bf16", 2), T("bf16", 2)),
                     (T("i64", 2), T("i64", 2)), (T("f32", 0, 3), T("f32", 0, 3))):
            call(f"aten::{name}_backward.default", g, x, *more)
    call("aten::elu_backward.default", X, 1, 1, 1, False, X)
    call("aten::elu_backward.default", X, 1, 1, 1, False, T("f32", 2, 4))
    for dtype in ("f32", "bf16", "i64"):
        call("aten::log_sigmoid_forward.default", T(dtype, 2, 3))
        call("aten::log_sigmoid_backward.default", T(dtype, 2, 3), T(dtype, 2, 3), T(dtype, 2, 3))
    for g, x, dim in ((T("f32", 2, 3), T("f32", 2, 6), 1), (T("f32", 2, 3), T("f32", 4, 3), -2), (T("f32", 2, 3), T("f32", 2, 5), 1),
                      (T("f32", 2, 2), T("f32", 2, 6), 1), (T("f32", 2, 3), T("f32", 2, 6), 2), (T("bf16", 3), T("bf16", 6), 0)):
        call("aten::glu_backward.default", g, x, dim)
    for weight in (T("f32", 1, 3), T("f32", 1, 1), T("f32", 1, 2)):
        call("aten::_prelu_kernel.default", T("f32", 2, 3), weight)
        call("aten::_prelu_kernel_backward.default", T("f32", 2, 3), T("f32", 2, 3), weight)


def losses() -> None:
    x, one = T("f32", 2, 3), T("f32")
    for reduction in (0, 1, 2):
        for name, more in (("mse", []), ("smooth_l1", [1.0]), ("huber", [1.0])):
            for g, target in ((x, x), (one, x), (x, T("f32", 2, 4)), (one, T("f32", 2, 4))):
                call(f"aten::{name}_loss_backward.default", g, x, target, reduction, *more)
        for g in (x, one):
            call("aten::binary_cross_entropy_backward.default", g, x, x, None, reduction)
        for scores, target, weight in (
            (T("f32", 4, 5), T("i64", 4), None), (T("f32", 5), T("i64"), None), (T("bf16", 4, 5), T("i64", 4), T("bf16", 5)),
            (T("f32", 4, 5), T("i64", 3), None), (T("f32", 4, 5), T("i64", 4), T("f32", 4)), (T("f32", 4, 5, 2), T("i64", 4, 2), None),
            (T("f32", 4, 5), T("f32", 4), None), (T("i64", 4, 5), T("i64", 4), None)):
            call("aten::nll_loss_forward.default", scores, target, weight, reduction, -100)
            g = T(scores.dtype, *target.shape) if reduction == 0 else T(scores.dtype)
            call("aten::nll_loss_backward.default", g, scores, target, weight, reduction, -100, T(scores.dtype))
        for scores, target in ((T("f32", 2, 3, 4, 5), T("i64", 2, 4, 5)), (T("f32", 2, 3, 4, 5), T("i64", 2, 4, 4)),
                               (T("f32", 2, 3, 4), T("i64", 2, 4)), (T("f32", 2, 3, 4, 5), T("i64", 2, 5))):
            call("aten::nll_loss2d_forward.default", scores, target, None, reduction, -100)
            g = T("f32", *target.shape) if reduction == 0 else one
            call("aten::nll_loss2d_backward.default", g, scores, target, None, reduction, -100, one)


def windows() -> None:
    volume = T("f32", 2, 3, 4, 6, 5)
    for g in ((2, 3, 2, 3, 2), (2, 3, 2, 3, 3), (3, 2, 3, 2)):
        call("aten::avg_pool3d_backward.default", T("f32", *g), volume, [2], [2], [0], False, True, None)
        call("aten::avg_pool3d_backward.default", T("f32", *g), volume, [2], [2], [2], False, True, None)
        call("aten::max_pool3d_with_indices_backward.default", T("f32", *g), volume, [2], [2], [0], [1], False, T("i64", *g))
    call("aten::_adaptive_avg_pool3d_backward.default", T("f32", 2, 3, 2, 2, 2), volume)
    call("aten::_adaptive_avg_pool3d_backward.default", T("f32", 2, 3, 2, 2), volume)
    for kind in ("reflection", "replication"):
        call(f"aten::{kind}_pad1d_backward.default", T("f32", 2, 8), T("f32", 2, 5), [1, 2])
        call(f"aten::{kind}_pad1d_backward.default", T("f32", 2, 9), T("f32", 2, 5), [1, 2])
        call(f"aten::{kind}_pad2d_backward.default", T("f32", 2, 3, 7, 8), X, [1, 2, 0, 1])
        call(f"aten::{kind}_pad2d_backward.default", T("f32", 2, 3, 7, 7), X, [1, 2, 0, 1])
        call(f"aten::{kind}_pad3d_backward.default", T("f32", 2, 3, 4, 7, 8), volume, [1, 2, 0, 1, 0, 0])
        call(f"aten::{kind}_pad3d_backward.default", T("f32", 2, 3, 4, 7, 9), volume, [1, 2, 0, 1, 0, 0])


def indexing() -> None:
    for g, dim, start, end, step in (((2, 3), 1, 1, 6, 2), ((2, 2), 1, 1, 6, 2), ((1, 7), 0, -1, 9, 1), ((2, 7), 2, 0, 9, 1)):
        call("aten::slice_backward.default", T("f32", *g), [2, 7], dim, start, end, step)
    for g, dim, index in (((2,), 1, 6), ((7,), 0, -1), ((2,), 1, 7), ((7,), 1, 0), ((7,), 3, 0)):
        call("aten::select_backward.default", T("f32", *g), [2, 7], dim, index)
    for g, index in (((2, 4), (4,)), ((2, 3), (4,)), ((2, 4), (2, 2))):
        call("aten::index_select_backward.default", T("f32", *g), [2, 7], 1, T("i64", *index))
    for g, dim, size, step in (((2, 3, 3), 1, 3, 2), ((2, 3, 2), 1, 3, 2), ((1, 7, 2), 0, 2, 1)):
        call("aten::unfold_backward.default", T("f32", *g), [2, 7], dim, size, step)
    for g, dim, keep in (((2,), 1, False), ((2, 1), 1, True), ((7,), 0, False)):
        call("aten::value_selecting_reduction_backward.default", T("f32", *g), dim, T("i64", *g), [2, 7], keep)
    call("aten::masked_select_backward.default", T("f32", 0), T("f32", 2, 3), T("bool", 2, 3))


def norms() -> None:
    for dtype in ("f32", "f64", "bf16"):
        x, w = T(dtype, 2, 3, 4), T(dtype, 4)
        call("aten::_fused_rms_norm.default", x, [4], w, None)
        call("aten::_fused_rms_norm.default", x, [3], None, None)
        call("aten::_fused_rms_norm.default", x, [3, 4], T(dtype, 3, 4), 0.1)
        channels = T(dtype, 3)
        for training in (True, False):
            call("aten::native_batch_norm.default", x, channels, channels, channels, channels, training, 0.1, 0.1)
        call("aten::native_batch_norm.default", x, None, None, None, None, True, 0.1, 0.1)
        call("aten::native_batch_norm.default", x, w, channels, None, None, True, 0.1, 0.1)


def recurrent() -> None:
    x = T("f32", 5, 2, 4)

    def parameters(gates: int, directions: int) -> list:
        each = [T("f32", gates * 3, 4), T("f32", gates * 3, 3), T("f32", gates * 3), T("f32", gates * 3)]
        return each * directions

    for name, gates in (("gru", 3), ("rnn_tanh", 1), ("rnn_relu", 1)):
        for two, state in ((False, (1, 2, 3)), (True, (2, 2, 3)), (True, (1, 2, 3)), (False, (1, 3, 3))):
            call(f"aten::{name}.input", x, T("f32", *state), parameters(gates, 2 if two else 1), True, 1, 0.0, False, two, False)
    for two, state in ((False, (1, 2, 3)), (True, (2, 2, 3)), (True, (1, 2, 3)), (False, (1, 5, 3))):
        hx = [T("f32", *state), T("f32", *state)]
        for batch_first in (False, True):
            call("aten::lstm.input", x, hx, parameters(4, 2 if two else 1), True, 1, 0.0, False, two, batch_first)
    for name in ("rnn_tanh_cell", "rnn_relu_cell"):
        weights = [T("f32", 3, 4), T("f32", 3, 3)]
        call(f"aten::{name}.default", T("f32", 2, 4), T("f32", 2, 3), *weights)
        call(f"aten::{name}.default", T("f32", 2, 5), T("f32", 2, 3), *weights)
        call(f"aten::{name}.default", T("f32", 2, 4), T("f32", 2, 2), *weights)
        call(f"aten::{name}.default", T("f32", 2, 4), T("f32", 3, 3), *weights)


if __name__ == "__main__":
    torch.set_num_threads(1)
    write(activations, losses, windows, indexing, norms, recurrent)
