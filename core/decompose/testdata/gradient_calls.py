"""Write gradient_calls.json: calls of backward operators and of what training adds, and PyTorch's fp64 answers.

    python3 core/decompose/testdata/gradient_calls.py > core/decompose/testdata/gradient_calls.json

A call is [operator, {argument: value}, [results]] as in composite_calls.py; a result that the output mask leaves out is
null. A fourth entry says what the results are the gradients of:
{"forward": a call, "grad": the argument that is the gradient of its first result, "of":
[argument of the forward operator for each result, or null]}; the test holds the results against finite differences of
the forward operator.

Written with torch 2.13.0+cpu.
"""

from __future__ import annotations

import math

import torch
from call_text import INF, NAN, as_list, calls, chance, encode, encode_arguments, i, named, overload, write
from torch._decomp import decomposition_table

torch.manual_seed(7)
aten = torch.ops.aten


def hardsigmoid_backward(grad_output, self):
    return torch.where((self > -3) & (self < 3), grad_output / 6, 0.0)


# Where PyTorch's CPU kernel is not what it says: hardsigmoid's has 1 / 6 in f32, even for f64.
DEFINITIONS = {"hardsigmoid_backward.default": hardsigmoid_backward}


def answers(op: str, given: dict) -> list:
    if op in DEFINITIONS:
        return [DEFINITIONS[op](**given)]
    target = overload(op)
    own = {k: v.clone() if isinstance(v, torch.Tensor) else v for k, v in given.items()}  # some change arguments
    try:
        results = target(**own)
    except NotImplementedError:  # not on the CPU: PyTorch's own decomposition
        results = decomposition_table[target](**own)
    return as_list(results)


def entry(op: str, given: dict) -> list:
    results = answers(op, given)
    mask = given.get("output_mask", [True] * len(results))
    kept = [encode(result) if wanted else None for result, wanted in zip(results, mask)]
    return ["aten::" + op, encode_arguments(given), kept]


def call(op: str, forward=None, of=(), upstream: str = "grad_output", **arguments) -> None:
    calls.append(entry(op, named(arguments)))
    if forward:
        calls[-1].append({"forward": entry(forward[0], named(forward[1])), "grad": upstream, "of": list(of)})


def f(*shape: int) -> torch.Tensor:
    """Short in text, and never on a kink at a multiple of 1/8."""
    return (torch.randn(shape, dtype=torch.float64) * 16).round() / 8 + 0.03125


def positive(*shape: int) -> torch.Tensor:
    return f(*shape).abs() + 0.125


def activations() -> None:
    x, g = f(3, 5) * 1.5, f(3, 5)
    edges = torch.tensor([0.0, -0.0, 1.0, -1.0, 3.0, -3.0, 0.5, -0.5, INF, -INF, NAN, 40.0, -40.0]).double()
    table = [
        ("silu", {}, {}),
        ("gelu", {"approximate": "none"}, {"approximate": "none"}),
        ("gelu", {"approximate": "tanh"}, {"approximate": "tanh"}),
        ("threshold", {"threshold": 0.5}, {"threshold": 0.5, "value": 2}),
        ("hardsigmoid", {}, {}),
        ("hardswish", {}, {}),
        ("hardtanh", {"min_val": -1, "max_val": 0.5}, {"min_val": -1, "max_val": 0.5}),
        ("mish", {}, {}),
        ("softplus", {"beta": 2, "threshold": 3}, {"beta": 2, "threshold": 3}),
        ("softplus", {"beta": 1, "threshold": 20}, {}),
        ("softshrink", {"lambd": 0.5}, {"lambd": 0.5}),
    ]
    for name, backward, forward in table:
        inputs = {"self_": x, **forward}
        call(f"{name}_backward.default", (f"{name}.default", inputs), ["self"], grad_output=g, self_=x, **backward)
        call(f"{name}_backward.default", grad_output=torch.full_like(edges, 2.0), self_=edges, **backward)
    call("hardshrink_backward.default", ("hardshrink.default", {"self_": x}), ["self"], upstream="grad_out",
         grad_out=g, self_=x, lambd=0.5)
    for name in ("sigmoid", "tanh"):
        forward = (f"{name}.default", {"self_": x})
        call(f"{name}_backward.default", forward, ["self"], grad_output=g, output=getattr(torch, name)(x))
    for is_result in (False, True):
        slopes = {"alpha": 1.5, "scale": 0.75, "input_scale": 2}
        result = aten.elu(x, **slopes)
        call("elu_backward.default", ("elu.default", {"self_": x, **slopes}), ["self"], grad_output=g, **slopes,
             is_result=is_result, self_or_result=result if is_result else x)
        result = aten.leaky_relu(x, 0.25)
        call("leaky_relu_backward.default", ("leaky_relu.default", {"self_": x, "negative_slope": 0.25}), ["self"],
             grad_output=g, self_=result if is_result else x, negative_slope=0.25, self_is_result=is_result)
    p = chance(3, 5)
    call("logit_backward.default", grad_output=g, self_=p)
    call("logit_backward.default", grad_output=g, self_=p, eps=0.25)
    call("logit_backward.default", grad_output=torch.ones_like(edges), self_=edges)
    call("logit_backward.default", grad_output=torch.ones_like(edges), self_=edges, eps=0.5)
    for point in (x, edges):
        call("log_sigmoid_forward.default", self_=point)
        kept = aten.log_sigmoid_forward(point)[1]
        forward = ("log_sigmoid.default", {"self_": x}) if point is x else None
        call("log_sigmoid_backward.default", forward, ["self"], grad_output=torch.ones_like(point) * 2, self_=point,
             buffer=kept)
    wide = f(3, 4)
    call("glu_backward.default", ("glu.default", {"self_": wide, "dim": 1}), ["self"], grad_output=f(3, 2),
         self_=wide, dim=1)
    wide = f(4, 3)
    call("glu_backward.default", ("glu.default", {"self_": wide, "dim": -2}), ["self"], grad_output=f(2, 3),
         self_=wide, dim=-2)
    weight = f(1, 5)
    call("_prelu_kernel.default", self_=x, weight=weight)
    call("_prelu_kernel_backward.default", ("_prelu_kernel.default", {"self_": x, "weight": weight.expand(3, 5)}),
         ["self", "weight"], grad_output=g, self_=x, weight=weight)
    call("native_dropout_backward.default", grad_output=g, mask=x > 0, scale=1.25)
    call("native_dropout_backward.default", grad_output=g, mask=x > INF, scale=INF)


def losses() -> None:
    x, target = f(3, 4), f(3, 4) + 0.015625
    for reduction in (0, 1, 2):
        g = f(3, 4) if reduction == 0 else f()
        for name, more in (("mse_loss", {}), ("smooth_l1_loss", {"beta": 1.0}), ("smooth_l1_loss", {"beta": 0.0}),
                           ("huber_loss", {"delta": 0.75})):
            inputs = {"self_": x, "target": target, "reduction": reduction, **more}
            call(f"{name}_backward.default", (f"{name}.default", inputs), ["self"], grad_output=g, **inputs)
        p, t = chance(3, 4), chance(3, 4)
        for weight in (None, positive(4)):
            inputs = {"self_": p, "target": t, "weight": weight, "reduction": reduction}
            call("binary_cross_entropy_backward.default", ("binary_cross_entropy.default", inputs), ["self"],
                 grad_output=g, **inputs)
        for shape, classes in (((3,), i(1, 3, 0)), ((3,), i(1, -100, 0)), ((), torch.tensor(2))):
            for weight in (None, positive(4)):
                scores = f(*shape, 4)
                inputs = {"self_": scores, "target": classes, "weight": weight, "reduction": reduction,
                          "ignore_index": -100}
                call("nll_loss_forward.default", **inputs)
                total = aten.nll_loss_forward(scores, classes, weight, reduction, -100)[1]
                call("nll_loss_backward.default", ("nll_loss_forward.default", inputs), ["self"],
                     grad_output=f(*shape) if reduction == 0 else f(), **inputs, total_weight=total)
        classes = torch.tensor([[[0, 2], [1, 1]], [[2, 2], [0, 1]]])
        for weight in (None, positive(3)):
            scores = f(2, 3, 2, 2)
            inputs = {"self_": scores, "target": classes, "weight": weight, "reduction": reduction, "ignore_index": 1}
            call("nll_loss2d_forward.default", **inputs)
            total = aten.nll_loss2d_forward(scores, classes, weight, reduction, 1)[1]
            call("nll_loss2d_backward.default", ("nll_loss2d_forward.default", inputs), ["self"],
                 grad_output=f(2, 2, 2) if reduction == 0 else f(), **inputs, total_weight=total)
    equal = torch.tensor([1.0, 1.5, 0.0]).double()
    for beta in (0.0, 0.5):
        call("smooth_l1_loss_backward.default", grad_output=torch.ones(3).double(), self_=equal,
             target=torch.tensor([1.0, 1.0, 0.5]).double(), reduction=0, beta=beta)
    call("binary_cross_entropy_backward.default", grad_output=torch.ones(4).double(),
         self_=torch.tensor([0.0, 1.0, 0.0, 1.0]).double(), target=torch.tensor([0.0, 0.0, 1.0, 1.0]).double(),
         reduction=0)
    for name in ("softmax", "log_softmax"):
        for shape, dim in (((3, 4), 1), ((2, 3, 2), -2), ((5,), 0), ((), 0)):
            x, g = f(*shape), f(*shape)
            y = getattr(torch, name)(x, dim)
            call(f"_{name}_backward_data.default", (f"_{name}.default", {"self_": x, "dim": dim, "half_to_float": False}),
                 ["self"], grad_output=g, output=y, dim=dim, input_dtype=torch.float64)


MASKS3 = ([True, True, True], [True, False, False], [False, True, True])


def norms() -> None:
    for shape, inner, affine in (((3, 4), [4], True), ((2, 3, 4), [3, 4], True), ((3, 4), [4], False), ((4,), [4], True)):
        x, g = f(*shape), f(*shape)
        weight, bias = (f(*inner), f(*inner)) if affine else (None, None)
        inputs = {"input": x, "normalized_shape": inner, "weight": weight, "bias": bias}
        _, mean, rstd = aten.native_layer_norm(x, inner, weight, bias, 0.25)
        for mask in MASKS3 if affine else ([True, False, False],):
            call("native_layer_norm_backward.default", ("native_layer_norm.default", {**inputs, "eps": 0.25}),
                 [name if wanted else None for name, wanted in zip(("input", "weight", "bias"), mask)],
                 upstream="grad_out", grad_out=g, **inputs, mean=mean, rstd=rstd, output_mask=mask)
        _, rstd = aten._fused_rms_norm(x, inner, weight, 0.25)
        rms = {"input": x, "normalized_shape": inner, "weight": weight}
        call("_fused_rms_norm.default", **rms, eps=0.25)
        call("_fused_rms_norm.default", **rms, eps=None)
        call("_fused_rms_norm_backward.default", ("_fused_rms_norm.default", {**rms, "eps": 0.25}),
             ["input", "weight" if affine else None], upstream="grad_out", grad_out=g, **rms, rstd=rstd,
             output_mask=[True, affine])
    for affine in (True, False):
        x, g = f(2, 6, 3, 2), f(2, 6, 3, 2)
        weight, bias = (f(6), f(6)) if affine else (None, None)
        sizes = {"N": 2, "C": 6, "HxW": 6, "group": 3}
        _, mean, rstd = aten.native_group_norm(x, weight, bias, 2, 6, 6, 3, 0.25)
        for mask in MASKS3 if affine else ([True, False, False],):
            call("native_group_norm_backward.default",
                 ("native_group_norm.default", {"input": x, "weight": weight, "bias": bias, **sizes, "eps": 0.25}),
                 [name if wanted else None for name, wanted in zip(("input", "weight", "bias"), mask)],
                 upstream="grad_out", grad_out=g, input=x, mean=mean, rstd=rstd, weight=weight, **sizes, output_mask=mask)
    for shape in ((4, 3), (2, 3, 2, 2)):
        x, g, mean, var = f(*shape), f(*shape), f(3), positive(3)
        for affine in (True, False):
            weight, bias = (f(3), f(3)) if affine else (None, None)
            inputs = {"input": x, "weight": weight, "bias": bias}
            statistics = {"running_mean": mean, "running_var": var}
            for training in (True, False):
                for name in ("native_batch_norm", "_native_batch_norm_legit_functional"):
                    call(f"{name}.default", **inputs, **statistics, training=training, momentum=0.125, eps=0.25)
                call("native_batch_norm.default", **inputs, running_mean=None, running_var=None, training=True,
                     momentum=0.125, eps=0.25)
                if training:
                    for name in ("_batch_norm_with_update", "_batch_norm_with_update_functional"):
                        call(f"{name}.default", **inputs, **statistics, momentum=0.125, eps=0.25)
                _, save_mean, save_invstd = aten.native_batch_norm(x, weight, bias, None, None, True, 0.125, 0.25)
                forward = {**inputs, **statistics, "training": training, "momentum": 0.125, "eps": 0.25}
                for mask in MASKS3 if affine else ([True, False, False],):
                    call("native_batch_norm_backward.default", ("native_batch_norm.default", forward),
                         [name if wanted else None for name, wanted in zip(("input", "weight", "bias"), mask)],
                         upstream="grad_out", grad_out=g, input=x, weight=weight, **statistics,
                         save_mean=save_mean, save_invstd=save_invstd, train=training, eps=0.25, output_mask=mask)


def windows() -> None:
    table = [  # input, weight, stride, padding, dilation, transposed, output padding, groups
        ((2, 3, 7), (4, 3, 3), [2], [1], [1], False, [0], 1),
        ((2, 4, 6), (6, 2, 2), [1], [0], [2], False, [0], 2),
        ((1, 2, 5, 4), (3, 2, 3, 2), [2, 1], [1, 0], [1, 1], False, [0, 0], 1),
        ((2, 4, 6, 7), (4, 1, 3, 3), [2, 3], [2, 1], [2, 1], False, [0, 0], 4),
        ((1, 2, 4, 4), (2, 2, 1, 1), [3, 3], [0, 0], [1, 1], False, [0, 0], 1),
        ((1, 1, 3, 4, 3), (2, 1, 2, 2, 2), [1, 2, 1], [0, 1, 0], [1, 1, 1], False, [0, 0, 0], 1),
        ((2, 3, 4), (3, 2, 3), [2], [1], [1], True, [1], 1),
        ((2, 4, 3), (4, 3, 2), [1], [0], [3], True, [2], 2),
        ((1, 4, 3, 2), (4, 1, 3, 2), [2, 2], [1, 0], [1, 2], True, [1, 0], 2),
    ]
    for shape, filters, stride, padding, dilation, transposed, more, groups in table:
        x, weight = f(*shape), f(*filters)
        where = {"stride": stride, "padding": padding, "dilation": dilation, "transposed": transposed,
                 "output_padding": more, "groups": groups}
        bias = f(filters[1] * groups if transposed else filters[0])
        out = aten.convolution(x, weight, bias, *where.values())
        g = f(*out.shape)
        for mask in MASKS3:
            call("convolution_backward.default", ("convolution.default", {"input": x, "weight": weight, "bias": bias, **where}),
                 [name if wanted else None for name, wanted in zip(("input", "weight", "bias"), mask)],
                 grad_output=g, input=x, weight=weight, bias_sizes=list(bias.shape), **where, output_mask=mask)
    averages = [  # shape, kernel, stride, padding, ceil_mode, count_include_pad, divisor
        ((1, 2, 4, 4), [2, 2], [2, 2], [0, 0], False, True, None),
        ((2, 1, 5, 6), [3, 2], [2, 1], [1, 0], False, True, None),
        ((2, 5, 6), [3, 2], [2, 1], [1, 1], False, False, None),
        ((1, 1, 6, 5), [3, 3], [2, 2], [1, 1], True, True, None),
        ((1, 1, 6, 5), [3, 3], [2, 3], [1, 0], True, False, None),
        ((1, 2, 7, 7), [2, 3], [], [0, 1], True, True, None),
        ((1, 1, 5, 5), [2, 2], [3, 3], [0, 0], False, True, 3),
    ]
    for shape, kernel, stride, padding, ceil_mode, include, divisor in averages:
        for n in (2, 3):
            if n == 3:
                shape, kernel, padding = (*shape[:-2], 3, *shape[-2:]), [2, *kernel], [1, *padding]
                stride = [2, *stride] if stride else []
            inputs = {"self_": f(*shape), "kernel_size": kernel, "stride": stride, "padding": padding,
                      "ceil_mode": ceil_mode, "count_include_pad": include, "divisor_override": divisor}
            out = getattr(aten, f"avg_pool{n}d")(*inputs.values())
            call(f"avg_pool{n}d_backward.default", (f"avg_pool{n}d.default", inputs), ["self"],
                 grad_output=f(*out.shape), **inputs)
    for shape, kernel, stride, padding, dilation, ceil_mode in (
        ((1, 2, 4, 4), [2, 2], [2, 2], [0, 0], [1, 1], False),
        ((2, 5, 6), [3, 2], [1, 1], [1, 1], [1, 2], False),
        ((1, 1, 6, 5), [3, 3], [2, 2], [1, 1], [1, 1], True),
    ):
        for n in (2, 3):
            if n == 3:
                shape, kernel, stride = (*shape[:-2], 3, *shape[-2:]), [2, *kernel], [1, *stride]
                padding, dilation = [1, *padding], [1, *dilation]
            x = torch.randperm(math.prod(shape)).double().reshape(shape) / 4
            inputs = {"self_": x, "kernel_size": kernel, "stride": stride, "padding": padding, "dilation": dilation,
                      "ceil_mode": ceil_mode}
            out, indices = getattr(aten, f"max_pool{n}d_with_indices")(*inputs.values())
            call(f"max_pool{n}d_with_indices_backward.default", (f"max_pool{n}d_with_indices.default", inputs), ["self"],
                 grad_output=f(*out.shape), **inputs, indices=indices)
    for shape, size in (((2, 3, 4, 6), [2, 3]), ((2, 4, 6), [1, 1]), ((1, 2, 7, 5), [3, 2]), ((1, 1, 3, 4), [5, 4])):
        x = f(*shape)
        call("_adaptive_avg_pool2d_backward.default", ("_adaptive_avg_pool2d.default", {"self_": x, "output_size": size}),
             ["self"], grad_output=f(*shape[:-2], *size), self_=x)
        x = f(*shape[:-2], 5, *shape[-2:])
        call("_adaptive_avg_pool3d_backward.default", grad_output=f(*shape[:-2], 2, *size), self_=x)


def resampling() -> None:
    for name, shape, sizes in (("upsample_nearest1d", (2, 1, 5), ([8], [3])), ("upsample_nearest2d", (1, 2, 3, 4), ([5, 8], [2, 3])),
                               ("upsample_nearest3d", (1, 1, 2, 3, 2), ([3, 2, 4],)),
                               ("upsample_linear1d", (2, 1, 5), ([8], [3], [1])),
                               ("upsample_bilinear2d", (1, 2, 3, 4), ([5, 8], [2, 3])),
                               ("upsample_trilinear3d", (1, 1, 2, 3, 2), ([3, 2, 4],)),
                               ("upsample_bicubic2d", (1, 2, 4, 3), ([5, 8], [2, 3]))):
        for size in sizes:
            for align in ((False,) if "nearest" in name else (False, True)):
                modes = {} if "nearest" in name else {"align_corners": align}
                call(f"{name}_backward.default", (f"{name}.default", {"self_": f(*shape), "output_size": size, **modes}),
                     ["self"], grad_output=f(*shape[:2], *size), output_size=size, input_size=list(shape), **modes)
    call("upsample_bilinear2d_backward.default", grad_output=f(1, 1, 5, 7), output_size=[5, 7], input_size=[1, 1, 3, 4],
         align_corners=False, scales_h=1.75, scales_w=1.9)
    for n, image, places in ((2, (2, 2, 3, 4), (2, 3)), (3, (1, 2, 2, 3, 2), (2, 1, 2))):
        x, grid = f(*image), f(image[0], *places, n) / 3
        for mode in (0, 1, 2) if n == 2 else (0, 1):
            for padding in (0, 1, 2):
                inputs = {"input": x, "grid": grid, "interpolation_mode": mode, "padding_mode": padding,
                          "align_corners": padding == 2}
                call(f"grid_sampler_{n}d_backward.default", (f"grid_sampler_{n}d.default", inputs), ["input", "grid"],
                     grad_output=f(*image[:2], *places), **inputs, output_mask=[True, True])
    for name in ("adaptive_max_pool2d", "adaptive_max_pool3d"):
        shape, size = ((1, 2, 5, 4), [3, 2]) if "2d" in name else ((1, 1, 3, 5, 4), [2, 3, 2])
        x = torch.randperm(math.prod(shape)).double().reshape(shape) / 4
        indices = getattr(aten, name)(x, size)[1]
        call(f"{name}_backward.default", grad_output=f(*shape[:2], *size), self_=x, indices=indices)
    for x, dim in ((f(3, 4), 1), (torch.tensor([2.0, 0.0, 3.0, 0.0, 5.0]).double(), 0), (f(2, 3, 2), -2)):
        call("cumprod_backward.default", grad=f(*x.shape), input=x, dim=dim, output=torch.cumprod(x, dim))


def indexing() -> None:
    sliced = {"dim": 1, "start": 1, "end": 6, "step": 2}
    x = f(2, 7)
    call("slice_backward.default", ("slice.Tensor", {"self_": x, **sliced}), ["self"], grad_output=f(2, 3),
         input_sizes=[2, 7], **sliced)
    call("slice_backward.default", grad_output=f(2, 3), input_sizes=[2, 7], dim=-1, start=-3, end=9223372036854775807,
         step=1)
    call("select_backward.default", ("select.int", {"self_": x, "dim": 1, "index": -2}), ["self"], grad_output=f(2),
         input_sizes=[2, 7], dim=1, index=-2)
    chosen = i(2, 0, 2, 6)
    call("index_select_backward.default", ("index_select.default", {"self_": x, "dim": -1, "index": chosen}), ["self"],
         upstream="grad", grad=f(2, 4), self_sizes=[2, 7], dim=-1, index=chosen)
    mask = x > 0
    call("masked_select_backward.default", grad=f(int(mask.sum())), input=x, mask=mask)
    call("masked_select_backward.default", grad=f(3), input=f(3, 1)[:1], mask=torch.tensor([True, False, True, True]))
    best = x.max(1)
    for keep in (False, True):
        call("value_selecting_reduction_backward.default", ("max.dim", {"self_": x, "dim": 1, "keepdim": keep}), ["self"],
             upstream="grad", grad=f(2, 1) if keep else f(2), dim=1, indices=best.indices.unsqueeze(1) if keep else best.indices,
                        sizes=[2, 7], keepdim=keep)
    for dim, size, step in ((1, 3, 2), (0, 2, 1), (-1, 2, 3)):
        out = x.unfold(dim, size, step)
        call("unfold_backward.default", ("unfold.default", {"self_": x, "dimension": dim, "size": size, "step": step}),
             ["self"], upstream="grad_in", grad_in=f(*out.shape), input_sizes=[2, 7], dim=dim, size=size, step=step)
    table, rows = f(5, 3), torch.tensor([[0, 3, 3], [4, 1, 3]])
    call("embedding_dense_backward.default", ("embedding.default", {"weight": table, "indices": rows}), ["weight"],
         grad_output=f(2, 3, 3), indices=rows, num_weights=5, padding_idx=-1, scale_grad_by_freq=False)
    call("embedding_dense_backward.default", grad_output=f(2, 3, 3), indices=rows, num_weights=5, padding_idx=3,
         scale_grad_by_freq=False)
    call("embedding_dense_backward.default", grad_output=f(2, 3, 3), indices=rows.int(), num_weights=6, padding_idx=0,
         scale_grad_by_freq=True)
    offsets = i(0, 2, 2)
    for mode, padding, freq in ((0, -1, False), (0, 3, False), (1, -1, False), (1, 3, True), (2, -1, False)):
        weights = positive(5) if mode == 0 else None
        # PyTorch divides by the frequency of another row where a lower row occurs twice.
        flat = i(0, 3, 4, 4, 1) if freq else i(0, 3, 3, 4, 1)
        _, bags, sizes, maxima = aten._embedding_bag(table, flat, offsets, freq, mode, False, weights, False, padding)
        call("_embedding_bag_dense_backward.default", grad=f(3, 3), indices=flat,
                        offset2bag=bags if bags.numel() else i(0, 0, 2, 2, 2), bag_size=sizes, maximum_indices=maxima,
                        num_weights=5, scale_grad_by_freq=freq, mode=mode, per_sample_weights=weights, padding_idx=padding)
    for kind in ("reflection", "replication"):
        for n, shape, padding in ((1, (2, 5), [3, 2]), (1, (2, 3, 4), [0, 3]), (2, (2, 4, 5), [2, 1, 3, 0]),
                                  (2, (1, 2, 3, 1), [0, 0, 2, 1]), (3, (1, 2, 3, 2, 3), [1, 2, 1, 0, 0, 2])):
            x = f(*shape)
            out = getattr(aten, f"{kind}_pad{n}d")(x, padding)
            call(f"{kind}_pad{n}d_backward.default", (f"{kind}_pad{n}d.default", {"self_": x, "padding": padding}), ["self"],
                 grad_output=f(*out.shape), self_=x, padding=padding)


def recurrent() -> None:
    steps, batch, features, size = 3, 2, 4, 3

    def parameters(gates: int, layers: int, directions: int, biases: bool, projection: int = 0) -> list:
        out = []
        for layer in range(layers):
            for _ in range(directions):
                width = features if layer == 0 else directions * (projection or size)
                out += [f(gates * size, width) / 4, f(gates * size, projection or size) / 4]
                out += [f(gates * size) / 4, f(gates * size) / 4] if biases else []
                out += [f(projection, size) / 4] if projection else []
        return out

    for name, gates in (("rnn_tanh", 1), ("rnn_relu", 1), ("gru", 3), ("lstm", 4)):
        for layers, bidirectional, biases, batch_first in ((1, False, True, False), (2, True, True, True),
                                                           (2, False, False, False), (1, True, True, False)):
            directions = 2 if bidirectional else 1
            shape = (batch, steps, features) if batch_first else (steps, batch, features)
            state = (layers * directions, batch, size)
            hx = [f(*state) / 4, f(*state) / 4] if name == "lstm" else f(*state) / 4
            call(f"{name}.input", input=f(*shape) / 4, hx=hx, params=parameters(gates, layers, directions, biases),
                 has_biases=biases, num_layers=layers, dropout=0.0, train=layers == 1, bidirectional=bidirectional,
                 batch_first=batch_first)
    for bidirectional in (False, True):
        directions = 2 if bidirectional else 1
        call("lstm.input", input=f(steps, batch, features) / 4,
             hx=[f(2 * directions, batch, 2) / 4, f(2 * directions, batch, size) / 4],
             params=parameters(4, 2, directions, True, 2), has_biases=True, num_layers=2, dropout=0.0, train=False,
             bidirectional=bidirectional, batch_first=False)
    for name in ("rnn_tanh_cell", "rnn_relu_cell"):
        weights = {"w_ih": f(size, features) / 4, "w_hh": f(size, size) / 4}
        call(f"{name}.default", input=f(batch, features) / 4, hx=f(batch, size) / 4, **weights)
        call(f"{name}.default", input=f(batch, features) / 4, hx=f(batch, size) / 4, **weights, b_ih=f(size), b_hh=f(size))


for family in (activations, losses, norms, windows, resampling, indexing, recurrent):
    family()

write()
