"""Write composite_calls.json: calls of composite operators and PyTorch's fp64 answers.

    python3 core/decompose/testdata/composite_calls.py > core/decompose/testdata/composite_calls.json

Each call is [operator, {argument: value}, [results]]. A tensor is
{"t": dtype, "s": shape, "d": data}, a dtype "%f64"; all floats are fp64, so
that the decomposition and PyTorch differ by rounding alone.

Written with torch 2.13.0+cpu.
"""

from __future__ import annotations

import math

import torch
from call_text import INF, NAN, call, chance, f, i, write

torch.manual_seed(11)


def positive(*shape: int) -> torch.Tensor:
    return f(*shape).abs() + 0.125


SPECIAL = torch.tensor([0.0, -0.0, 1.0, -1.0, INF, -INF, NAN, 2.5], dtype=torch.float64)
X, Y = f(3, 4), f(3, 4)
MASK = torch.tensor([[True, False, True, False]] * 3)

# Elementwise.
for name in "silu hardsigmoid hardswish relu6 softplus mish square celu log_sigmoid softshrink hardshrink frac exp2".split():
    call(f"{name}.default", self_=X)
for name in "silu hardswish relu6 square log_sigmoid softshrink hardshrink exp2 isfinite".split():
    call(f"{name}.default", self_=SPECIAL)
call("softplus.default", self_=X * 8, beta=2, threshold=3)
call("softshrink.default", self_=X, lambd=0.25)
call("celu.default", self_=X, alpha=0.5)
call("threshold.default", self_=X, threshold=0.25, value=-7)
call("prelu.default", self_=X, weight=f(4))
call("prelu.default", self_=f(2, 3, 2), weight=f(3))
call("prelu.default", self_=f(5), weight=f(1))
call("glu.default", self_=X)
call("glu.default", self_=f(4, 3), dim=0)
call("rsub.Scalar", self_=X, other=2, alpha=3)
call("masked_fill.Scalar", self_=X, mask=MASK, value=-INF)
call("masked_fill.Tensor", self_=X, mask=MASK, value=torch.tensor(2.0, dtype=torch.float64))
call("where.Scalar", condition=MASK, self=1, other=0)
call("where.ScalarOther", condition=MASK, self_=X, other=0.5)
call("where.ScalarSelf", condition=MASK, self=0.5, other=X)
call("clamp_min.default", self_=X, min=0.25)
call("clamp_min.Tensor", self_=X, min=X.flip(0))
call("clamp_max.Tensor", self_=X, max=X.flip(0))
call("clamp_max.default", self_=X, max=0.25)
call("clip.default", self_=X, min=-0.5, max=0.5)
call("addcmul.default", self_=X, tensor1=Y, tensor2=f(4), value=0.5)
call("addcdiv.default", self_=X, tensor1=Y, tensor2=positive(3, 4), value=-0.5)
for name in ("__and__.Tensor", "__or__.Tensor", "__xor__.Tensor"):
    call(name, self_=MASK, other=~MASK[:1])
    call(name, self_=i(5, 12, -3), other=i(3, 10, 7))
call("floor_divide.default", self_=X, other=positive(3, 4))
call("floor_divide.default", self_=i(7, -7, 9), other=i(2, 2, -4))
call("floor_divide.Scalar", self_=i(7, -7, 9), other=2)
call("true_divide.Tensor", self_=X, other=positive(4))
call("lerp.Scalar", self_=X, end=Y, weight=0.25)
call("lerp.Scalar", self_=X, end=Y, weight=0.75)
call("lerp.Tensor", self_=X, end=Y, weight=chance(3, 4))
call("logaddexp.default", self_=X, other=Y)
call("logaddexp.default", self_=SPECIAL, other=SPECIAL.flip(0))
call("logaddexp.default", self_=SPECIAL, other=SPECIAL)
call("xlogy.Tensor", self_=torch.tensor([0.0, 0.0, 2.0, 1.0]).double(), other=torch.tensor([0.0, NAN, 0.5, 4.0]).double())
call("hypot.default", self_=X, other=Y)
call("hypot.default", self_=torch.tensor([0.0, INF, 1e200, 1e-200]).double(), other=torch.tensor([0.0, 1.0, 1e200, 1e-200]).double())
call("isfinite.default", self_=i(1, 2))
call("isclose.default", self_=X, other=X + torch.tensor([0.0, 1e-7, 1e-3, 1e-9]).double())
call("isclose.default", self_=SPECIAL, other=SPECIAL)
call("isclose.default", self_=SPECIAL, other=SPECIAL.flip(0))
for name in ("__lshift__.Scalar", "__rshift__.Scalar"):
    call(name, self_=i(5, -5, 0), other=1)
    call(name, self_=i(5, -5, 1 << 40), other=3)
call("selu.default", self_=SPECIAL)

# Fills.
for name in "zeros ones".split():
    call(f"{name}.default", size=[2, 3], dtype=torch.float64)
    call(f"{name}_like.default", self_=X)
    call(f"new_{name}.default", self_=X, size=[2])
call("new_full.default", self_=X, size=[2], fill_value=1.5)
call("zero.default", self_=X)
call("fill.Tensor", self_=X, value=torch.tensor(1.5, dtype=torch.float64))
call("arange.default", end=4)
call("arange.start", start=2, end=5)
call("eye.default", n=3, dtype=torch.float64)
call("eye.m", n=2, m=4)
call("linspace.default", start=-1, end=2.0, steps=7, dtype=torch.float64)
call("linspace.default", start=3.0, end=5.0, steps=1, dtype=torch.float64)
call("linspace.default", start=3.0, end=5.0, steps=0, dtype=torch.float64)
for name in ("tril", "triu"):
    for diagonal in (-1, 0, 2):
        call(f"{name}.default", self_=f(2, 3, 4), diagonal=diagonal)

# Reductions and choices.
T3 = f(2, 3, 4)
call("sum.default", self_=T3)
call("sum.default", self_=MASK)
call("mean.default", self_=T3)
call("var.default", self_=T3)
call("std.default", self_=T3, unbiased=False)
for name in ("std", "var_mean"):
    call(f"{name}.dim", self_=T3, dim=[0, 2], unbiased=False, keepdim=True)
    call(f"{name}.dim", self_=T3, dim=[1])
    call(f"{name}.correction", self_=T3, dim=[-1], correction=2)
    call(f"{name}.correction", self_=T3)
call("var_mean.default", self_=T3)
call("all.default", self_=MASK)
call("all.default", self_=~torch.zeros(2, dtype=torch.bool))
call("all.default", self_=X)
call("min.default", self_=T3)
call("aminmax.default", self_=T3)
call("aminmax.default", self_=T3, dim=1, keepdim=True)
call("count_nonzero.default", self_=i(0, 3, 0, 1))
call("count_nonzero.default", self_=torch.tensor([[0.0, 1.0], [2.0, 3.0]]).double(), dim=0)
call("nansum.default", self_=torch.tensor([1.0, NAN, 2.5]).double())
call("sort.stable", self_=X, stable=False, dim=0, descending=True)
call("sort.stable", self_=X, stable=None)
call("argsort.default", self_=torch.tensor([[3.0, 1.0, 2.0], [0.5, 4.0, -1.0]]).double())
call("logsumexp.default", self_=T3, dim=[0, 2])
call("logsumexp.default", self_=T3, dim=[-1], keepdim=True)
call("logsumexp.default", self_=torch.tensor([[INF, 1.0], [-INF, -INF], [900.0, 900.0]]).double(), dim=[1])
call("cosine_similarity.default", x1=X, x2=Y)
call("cosine_similarity.default", x1=T3, x2=f(4), dim=-1, eps=4.0)
call("one_hot.default", self_=i(0, 2, 1), num_classes=4)
call("take_along_dim.default", self_=X, indices=torch.tensor([[0, 2, 1, 0]]), dim=0)
call("take_along_dim.default", self_=X, indices=i(5, 0))
call("index_add.default", self_=X, dim=0, index=i(2, 0, 2), source=Y, alpha=2)
call("index_add.default", self_=T3, dim=1, index=i(2, 2), source=f(2, 2, 4))
call("index_add.default", self_=T3, dim=-1, index=i(1, 3), source=f(2, 3, 2))
call("index_copy.default", self_=X, dim=1, index=i(3, 0), source=f(3, 2))
call("index_fill.int_Scalar", self_=X, dim=1, index=i(3, 0), value=-1)

# Losses.
TARGET = i(1, 3, 0)
for reduction in (0, 1, 2):
    for name in "mse l1 smooth_l1 huber".split():
        call(f"{name}_loss.default", self_=X, target=Y, reduction=reduction)
    call("binary_cross_entropy.default", self_=chance(3, 4), target=chance(3, 4), reduction=reduction)
    call("binary_cross_entropy_with_logits.default", self_=X, target=chance(3, 4), reduction=reduction)
    call("kl_div.default", self_=X, target=chance(3, 4), reduction=reduction)
    call("cross_entropy_loss.default", self_=X, target=TARGET, reduction=reduction)
    call("cross_entropy_loss.default", self_=X, target=i(1, -100, 0), weight=positive(4), reduction=reduction)
    call("cross_entropy_loss.default", self_=f(2, 3, 2), target=torch.tensor([[0, 1], [2, 0]]), reduction=reduction)
    call("nll_loss_nd.default", self_=X, target=i(1, 0, 3), reduction=reduction, ignore_index=0)
call("cross_entropy_loss.default", self_=f(4), target=torch.tensor(2))
call("nll_loss_nd.default", self_=f(4), target=torch.tensor(2))
call("smooth_l1_loss.default", self_=X, target=Y, beta=0.5)
call("smooth_l1_loss.default", self_=X, target=Y, beta=0.0)
call("huber_loss.default", self_=X, target=Y, delta=0.5)
call("binary_cross_entropy.default", self_=torch.tensor([0.0, 1.0]).double(), target=torch.tensor([1.0, 1.0]).double())
call("binary_cross_entropy.default", self_=chance(3, 4), target=chance(3, 4), weight=positive(4))
call("binary_cross_entropy_with_logits.default", self_=X, target=chance(3, 4), weight=positive(4), pos_weight=positive(4))
call("kl_div.default", self_=X, target=Y, log_target=True)
call("kl_div.default", self_=f(2), target=torch.tensor([0.0, 0.5]).double())
call("cross_entropy_loss.default", self_=X, target=chance(3, 4))

# Layers.
call("layer_norm.default", input=T3, normalized_shape=[3, 4], weight=f(3, 4), bias=f(3, 4))
call("layer_norm.default", input=T3, normalized_shape=[4])
call("rms_norm.default", input=T3, normalized_shape=[4], weight=f(4), eps=0.125)
call("rms_norm.default", input=T3, normalized_shape=[3, 4])
call("group_norm.default", input=f(2, 4, 3), num_groups=2, weight=f(4), bias=f(4))
call("instance_norm.default", input=f(2, 3, 4), weight=f(3), bias=f(3), running_mean=None, running_var=None, use_input_stats=True, momentum=0.1, eps=1e-5, cudnn_enabled=False)
call("batch_norm.default", input=f(2, 3, 2, 2), weight=f(3), bias=f(3), running_mean=f(3), running_var=positive(3), training=False, momentum=0.1, eps=1e-5, cudnn_enabled=False)
call("batch_norm.default", input=f(2, 3), weight=None, bias=None, running_mean=f(3), running_var=positive(3), training=False, momentum=0.1, eps=1e-3, cudnn_enabled=False)
for name in ("softmax.int", "log_softmax.int"):
    call(name, self_=X, dim=-1)
    call(name, self_=X.float(), dim=0, dtype=torch.float64)
Q, K, V = f(2, 2, 3, 4), f(2, 2, 5, 4), f(2, 2, 5, 3)
sdpa = "scaled_dot_product_attention.default"
call(sdpa, query=Q, key=K, value=V)
call(sdpa, query=Q, key=K, value=V, is_causal=True, scale=0.25)
call(sdpa, query=Q, key=K, value=V, attn_mask=f(3, 5))
call(sdpa, query=Q, key=K, value=V, attn_mask=torch.tensor([[True] * 5, [False] * 5, [True, False] * 2 + [True]]))
call(sdpa, query=f(2, 4, 3, 4), key=K, value=V, enable_gqa=True)
call(sdpa, query=f(3, 4), key=f(5, 4), value=f(5, 2))
call(sdpa, query=f(2, 3, 4), key=f(1, 5, 4), value=f(1, 5, 2))
IMAGE = f(1, 2, 4, 6)
call("max_pool1d.default", self_=f(2, 3, 7), kernel_size=[3], stride=[2], padding=[1])
call("max_pool1d.default", self_=f(3, 6), kernel_size=[2])
call("max_pool2d.default", self_=IMAGE, kernel_size=[2, 3])
call("max_pool3d.default", self_=f(1, 1, 4, 4, 4), kernel_size=[2], stride=[2], padding=[1])
call("adaptive_avg_pool1d.default", self_=f(2, 3, 6), output_size=[2])
call("adaptive_avg_pool1d.default", self_=f(3, 6), output_size=[1])
call("adaptive_avg_pool2d.default", self_=IMAGE, output_size=[2, 3])
call("adaptive_avg_pool2d.default", self_=IMAGE, output_size=[1, 1])
GATES = dict(input=f(2, 3), b_ih=f(8), b_hh=f(8))
call("lstm_cell.default", hx=[f(2, 2), f(2, 2)], w_ih=f(8, 3), w_hh=f(8, 2), **GATES)
call("lstm_cell.default", input=f(2, 3), hx=[f(2, 2), f(2, 2)], w_ih=f(8, 3), w_hh=f(8, 2))
call("gru_cell.default", input=f(2, 3), hx=f(2, 2), w_ih=f(6, 3), w_hh=f(6, 2), b_ih=f(6), b_hh=f(6))

# Products.
for shape in ((2, 3, 4), (2, 4), (4,)):
    call("linear.default", input=f(*shape), weight=f(5, 4), bias=f(5))
    call("linear.default", input=f(*shape), weight=f(5, 4))
for left, right in (((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 2)), ((3, 4), (4, 2)), ((2, 3, 4), (4, 2)), ((4,), (2, 4, 3)), ((2, 3, 4), (4,)), ((2, 1, 3, 4), (3, 4, 2)), ((3, 4), (2, 4, 2))):
    call("matmul.default", self_=f(*left), other=f(*right))
for beta, alpha in ((1, 1), (0.5, 2), (0, 1)):
    call("baddbmm.default", self_=f(2, 3, 2), batch1=f(2, 3, 4), batch2=f(2, 4, 2), beta=beta, alpha=alpha)
    call("addbmm.default", self_=f(3, 2), batch1=f(2, 3, 4), batch2=f(2, 4, 2), beta=beta, alpha=alpha)
    call("addmv.default", self_=f(3), mat=X, vec=f(4), beta=beta, alpha=alpha)
    call("addr.default", self_=f(3, 4), vec1=f(3), vec2=f(4), beta=beta, alpha=alpha)
call("outer.default", self_=f(3), vec2=f(2))
call("dot.default", self_=f(3), tensor=f(3))
call("mv.default", self_=X, vec=f(4))
call("inner.default", self_=f(2, 3, 4), other=f(5, 4))
call("inner.default", self_=f(4), other=f(4))
call("conv1d.default", input=f(2, 3, 6), weight=f(4, 3, 3), bias=f(4), stride=[2], padding=[1])
call("conv1d.default", input=f(3, 6), weight=f(2, 3, 2))
call("conv1d.padding", input=f(1, 2, 5), weight=f(2, 2, 2), padding="same")
call("conv2d.default", input=f(2, 2, 4, 4), weight=f(4, 1, 2, 2), bias=f(4), groups=2, dilation=[2, 1])
call("conv2d.padding", input=f(1, 2, 4, 4), weight=f(2, 2, 3, 2), padding="same")
call("conv2d.padding", input=f(1, 2, 4, 4), weight=f(2, 2, 3, 2), padding="valid")
call("conv3d.default", input=f(1, 2, 3, 3, 3), weight=f(2, 2, 2, 2, 2), bias=f(2))
call("conv_transpose1d.default", input=f(2, 3, 4), weight=f(3, 2, 3), bias=f(2), stride=[2], output_padding=[1])
call("conv_transpose2d.input", input=f(1, 2, 3, 3), weight=f(2, 1, 2, 2), groups=2, padding=[1, 0])
call("conv_transpose2d.input", input=f(2, 3, 3), weight=f(2, 3, 2, 2), stride=[2, 2])

# Views, joins, cuts.
call("reshape.default", self_=X, shape=[2, -1])
call("_unsafe_view.default", self_=X, size=[6, 2])
call("view_as.default", self_=X, other=f(4, 3))
call("flatten.using_ints", self_=T3, start_dim=1)
call("unflatten.int", self_=X, dim=1, sizes=[2, 2])
call("squeeze.default", self_=f(1, 3, 1))
call("expand_as.default", self_=f(1, 4), other=X)
call("broadcast_to.default", self_=f(4), size=[3, 4])
call("contiguous.default", self_=X)
call("detach.default", self_=X)
call("lift_fresh_copy.default", self_=X)
call("dropout.default", input=X, p=0.5, train=False)
call("feature_dropout.default", input=X, p=0.5, train=False)
call("to.dtype", self_=X, dtype=torch.int64)
call("to.dtype_layout", self_=X, dtype=torch.float32)
call("type_as.default", self_=i(1, 2), other=X)
call("transpose.int", self_=T3, dim0=0, dim1=-1)
call("swapdims.default", self_=T3, dim0=0, dim1=-1)
call("swapaxes.default", self_=T3, axis0=1, axis1=0)
call("t.default", self_=X)
call("numpy_T.default", self_=X)
call("mT.default", self_=T3)
call("adjoint.default", self_=T3)
call("movedim.int", self_=T3, source=0, destination=-1)
call("narrow.default", self_=X, dim=1, start=-3, length=2)
call("split.Tensor", self_=X, split_size=3, dim=1)
call("chunk.default", self_=f(5), chunks=3)
call("tensor_split.sections", self_=f(7, 2), sections=3)
call("unbind.int", self_=X, dim=1)
call("stack.default", tensors=[X, Y], dim=-1)
call("tile.default", self_=X, dims=[2])
call("repeat_interleave.self_int", self_=X, repeats=2, dim=0)
call("repeat_interleave.self_int", self_=X, repeats=2)
call("pad.default", self_=X, pad=[1, 2], value=0.5)
call("pad.default", self_=X, pad=[0, 0, 1, -1])
call("ravel.default", self_=X)
call("atleast_1d.default", self_=torch.tensor(2.5, dtype=torch.float64))
call("atleast_2d.default", self_=f(3))
call("hstack.default", tensors=[f(3), f(2)])
call("hstack.default", tensors=[X, f(3, 1)])
call("vstack.default", tensors=[f(4), X])
call("roll.default", self_=X, shifts=[1, -2], dims=[0, 1])
call("roll.default", self_=X, shifts=[-5])
call("broadcast_tensors.default", tensors=[f(3, 1), f(4)])
call("pixel_shuffle.default", self_=f(2, 8, 1, 3), upscale_factor=2)
call("pixel_unshuffle.default", self_=IMAGE, downscale_factor=2)
call("channel_shuffle.default", self_=f(1, 6, 2), groups=3)

# Attention that the kernels of a backend may fuse, and its backward pass. A row without an open key is left out
# for the flash variant: PyTorch's logsumexp is 0 there.
OPEN = torch.tensor([[True, True, False, True, False], [False, False, True, False, False], [True] * 5])
BIAS = torch.where(OPEN, f(3, 5), -math.inf)
math_sdpa = "_scaled_dot_product_attention_math.default"
call(math_sdpa, query=Q, key=K, value=V)
call(math_sdpa, query=Q, key=K, value=V, is_causal=True, scale=0.25)
call(math_sdpa, query=Q, key=K, value=V, attn_mask=BIAS)
call(math_sdpa, query=f(2, 4, 3, 4), key=K, value=V, enable_gqa=True)
flash = "_scaled_dot_product_flash_attention_for_cpu"
SQUARE = f(2, 2, 5, 4)
for name, given in {
    "plain": {},
    "causal": {"is_causal": True, "scale": 0.5},
    "bias": {"attn_mask": BIAS},
    "groups": {"query": f(2, 4, 3, 4)},
}.items():
    given = {"query": Q, "key": K, "value": SQUARE, "dropout_p": 0.0, "is_causal": False, **given}
    call(flash + ".default", **given)
    if name == "groups":
        continue  # PyTorch's backward kernel wants equal heads
    out, logsumexp = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(**given)
    backward = {"grad_out": f(*out.shape), "out": out, "logsumexp": logsumexp, **given}
    call(flash + "_backward.default", **backward)

call("_native_batch_norm_legit.default", input=f(2, 3, 4), weight=f(3), bias=f(3), running_mean=f(3), running_var=positive(3), training=False, momentum=0.1, eps=1e-5)
write()
