"""Write shape_calls.json: operator calls and what PyTorch answers, for shapes_test.cpp.

    python3 core/opset/testdata/shape_calls.py > core/opset/testdata/shape_calls.json

Written with torch 2.13.0+cpu.
"""

from __future__ import annotations

import itertools

import torch
from call_shapes import T, call, write


def pointwise() -> None:
    T.fill = 1  # divisors
    unary = (
        "abs acos acosh alias asin asinh atan atanh bitwise_not ceil clone cos cosh detach elu erf exp expm1 floor "
        "gelu hardtanh isinf isnan leaky_relu log log10 log1p log2 logical_not neg reciprocal relu round rsqrt "
        "sigmoid sign silu sin sinh sqrt tan tanh trunc"
    ).split()
    for name, dtype in itertools.product(unary, ("bool", "u8", "i64", "bf16", "c64")):
        call(f"aten::{name}.default", T(dtype, 2, 3))
    call("aten::exp.default", T("f64"))
    call("aten::gelu.default", T("f32", 3), approximate="tanh")
    call("aten::gelu.default", T("f32", 3), approximate="fast")
    call("aten::_to_copy.default", T("i64", 1, 2), dtype=torch.float32)
    call("aten::_to_copy.default", T("i64", 1, 2))
    call("aten::to.dtype", T("f32", 2), torch.bool)
    call("aten::type_as.default", T("f32", 2), T("i8"))
    call("aten::fill.Scalar", T("i64", 2), 1.5)
    call("aten::native_dropout.default", T("f32", 2, 3), 0.5, True)
    call("aten::native_dropout.default", T("f32", 2, 3), 1.5, True)

    tensors = (
        "add.Tensor sub.Tensor mul.Tensor div.Tensor atan2.default bitwise_and.Tensor eq.Tensor lt.Tensor "
        "maximum.default pow.Tensor_Tensor remainder.Tensor fmod.Tensor logical_and.default"
    ).split()
    pairs = [
        (T("f32", 2, 3), T("f32", 3)),
        (T("f32", 2, 1), T("i64", 1, 4)),
        (T("i64", 2), T("f64")),
        (T("f16", 2), T("f32")),
        (T("f16", 2), T("f32", 2)),
        (T("f16", 2), T("bf16", 2)),
        (T("i32", 2), T("i64")),
        (T("i32"), T("u8", 2)),
        (T("u8", 2), T("i8", 2)),
        (T("bool", 2), T("bool", 2)),
        (T("bool", 2), T("i32")),
        (T("c64", 2), T("f64", 2)),
        (T("f64", 2), T("c64")),
        (T("f32", 2, 3), T("f32", 2)),
        (T("f32", 0, 3), T("f32", 1, 3)),
    ]
    for name, (a, b) in itertools.product(tensors, pairs):
        call(f"aten::{name}", a, b)
    # Exported graphs pass numbers where the schema says Tensor.
    for name, a, b in itertools.product(
        ("add.Tensor", "div.Tensor", "bitwise_and.Tensor"), (T("bool", 2), T("i32", 2), T("bf16", 2)), (True, 2, 0.5)
    ):
        call(f"aten::{name}", a, b)
    scalars = (
        "add.Scalar sub.Scalar mul.Scalar div.Scalar ge.Scalar ne.Scalar fmod.Scalar remainder.Scalar "
        "bitwise_or.Scalar pow.Tensor_Scalar"
    ).split()
    for name, a, b in itertools.product(scalars, (T("bool", 2), T("i32", 2), T("f16", 2), T("c64")), (True, 2, 0.5)):
        call(f"aten::{name}", a, b)
    call("aten::pow.Tensor_Scalar", T("i64", 2), -1)
    call("aten::pow.Scalar", 2, T("i32", 2))
    call("aten::pow.Scalar", 2.0, T("i32", 2))
    for alpha in (2, 2.0, True):
        call("aten::add.Tensor", T("i64", 2), T("i64", 2), alpha=alpha)
        call("aten::add.Tensor", T("f32", 2), T("i64", 2), alpha=alpha)
    for mode in (None, "floor", "trunc", "ceil"):
        call("aten::div.Tensor_mode", T("i64", 2), T("i32", 2), rounding_mode=mode)
        call("aten::div.Scalar_mode", T("f32", 2), 2, rounding_mode=mode)
    call("aten::add_.Tensor", T("f32", 2, 3), T("f32", 3))
    call("aten::add_.Tensor", T("f32", 3), T("f32", 2, 3))
    call("aten::add_.Tensor", T("i64", 3), T("f32", 3))
    call("aten::mul_.Tensor", T("f16", 3), T("f32", 3))
    call("aten::copy.default", T("f32", 2, 3), T("i64", 3))
    call("aten::copy.default", T("f32", 3), T("i64", 2, 3))
    call("aten::clamp.default", T("i64", 2), None, None)
    call("aten::clamp.default", T("i64", 2), 0, None)
    call("aten::clamp.default", T("i64", 2), None, 0.5)
    call("aten::clamp.default", T("c64", 2), 0, 1)
    call("aten::clamp.Tensor", T("f32", 2, 1), T("f32", 3), None)
    call("aten::clamp.Tensor", T("f32", 2, 1), T("f64", 3), T("f32"))
    call("aten::where.self", T("bool", 2, 1), T("f32"), T("i64", 3))
    call("aten::where.self", T("bool", 2), T("f16", 2), T("f32"))
    call("aten::where.self", T("bool", 2), T("f32", 3), T("f32", 1))
    call("aten::where.self", T("i64", 2), T("f32", 2), T("f32", 2))
    call("aten::addcmul.default", T("f32", 2, 1), T("f32", 3), T("f64"))
    call("aten::addcmul.default", T("i64", 2), T("i64", 2), T("i64", 2), value=1.5)
    call("aten::addcdiv.default", T("i64", 2), T("i64", 2), T("i64", 2))
    call("aten::addcdiv.default", T("f32", 2), T("f32", 2), T("i64", 2))
    call("aten::masked_fill.Scalar", T("f32", 2, 3), T("bool", 3), 1)
    call("aten::masked_fill.Scalar", T("f32", 3), T("bool", 2, 3), 1)
    call("aten::masked_fill.Scalar", T("i64", 3), T("bool", 3), 1.5)
    call("aten::masked_fill.Scalar", T("i64", 3), T("i64", 3), 1)
    call("aten::masked_fill.Tensor", T("f16", 3), T("bool", 3), T("f32"))
    call("aten::masked_fill.Tensor", T("f16", 3), T("bool", 3), T("f32", 1))
    call("aten::masked_scatter.default", T("f32", 2, 3), T("bool", 3), T("f32", 6))
    call("aten::polar.default", T("f64", 2, 1), T("f64", 3))
    call("aten::polar.default", T("f64", 2), T("f32", 2))
    call("aten::gelu_backward.default", T("f32", 2), T("f32", 2))
    call("aten::tanh_backward.default", T("f32", 2), T("f32", 2))
    call("aten::threshold_backward.default", T("f32", 2), T("f32", 2), 0)


def reductions() -> None:
    T.fill = 0
    x = T("f32", 2, 3, 4)
    for dtype in ("bool", "u8", "i32", "f16", "c64"):
        y = T(dtype, 2, 3)
        call("aten::sum.dim_IntList", y, [1])
        call("aten::mean.dim", y, [1])
        call("aten::prod.dim_int", y, 1)
        call("aten::amax.default", y, [1])
        call("aten::any.dim", y, 1)
        call("aten::argmax.default", y, 1)
        call("aten::max.dim", y, 1)
        call("aten::cumsum.default", y, 1)
        call("aten::var.correction", y, [1])
        call("aten::linalg_vector_norm.default", y, 2, [1])
        call("aten::_softmax.default", y, 1, False)
        call("aten::sort.default", y)
        call("aten::topk.default", y, 2)
    for name in ("sum.dim_IntList", "mean.dim", "amax.default", "any.dims", "var.dim"):
        for dims in ([0], [-1, 0], [], [0, 0], [3], [0, 1, 2]):
            call(f"aten::{name}", x, dims)
            call(f"aten::{name}", x, dims, keepdim=True)
    for name in ("sum.dim_IntList", "mean.dim", "any.dims", "var.dim"):
        call(f"aten::{name}", x, None)
    call("aten::sum.dim_IntList", T("f32"), [0])
    call("aten::sum.dim_IntList", T("f32"), [1])
    call("aten::sum.dim_IntList", T("bool", 3), [0], dtype=torch.float16)
    call("aten::mean.dim", T("i64", 3), [0], dtype=torch.float32)
    call("aten::mean.dim", T("f32", 3), [0], dtype=torch.int64)
    call("aten::mean.default", T("f32", 3))
    call("aten::mean.default", T("i64", 3))
    call("aten::prod.default", T("bool", 3))
    call("aten::max.default", x)
    call("aten::max.default", T("f32", 0))
    call("aten::any.default", T("u8", 2))
    for name in ("max.dim", "min.dim", "argmin.default"):
        call(f"aten::{name}", x, 1, True)
        call(f"aten::{name}", x, -4)
        call(f"aten::{name}", T("f32", 0, 3), 0)
        call(f"aten::{name}", T("f32", 0, 3), 1)
        call(f"aten::{name}", T("f32"), 0)
    call("aten::argmax.default", x)
    call("aten::argmax.default", x, None, True)
    call("aten::argmax.default", T("f32", 0))
    call("aten::amax.default", T("f32", 0, 3), [0])
    call("aten::amax.default", T("f32", 0, 3), [1])
    call("aten::cumsum.default", T("f32"), 0)
    call("aten::cumsum.default", x, 3)
    call("aten::cumsum.default", T("bool", 2), 0, dtype=torch.float64)
    call("aten::_softmax.default", T("f32"), 0, False)
    call("aten::_softmax.default", x, 3, False)
    call("aten::_softmax.default", T("f32", 2), 0, True)
    call("aten::_log_softmax.default", x, -1, False)
    call("aten::softmax.int", T("f16", 2), 0, torch.float32)
    call("aten::softmax.int", T("i64", 2), 0)
    call("aten::linalg_vector_norm.default", x, 2, [0, 1], True)
    call("aten::linalg_vector_norm.default", x)
    call("aten::linalg_vector_norm.default", T("f16", 3), dtype=torch.float32)
    call("aten::topk.default", x, 5)
    call("aten::topk.default", x, 3, 1)
    call("aten::topk.default", x, -1)
    call("aten::topk.default", T("f32"), 1)
    call("aten::sort.default", x, 3)
    call("aten::sort.default", T("f32"))
    call("aten::_is_all_true.default", T("bool", 2))
    call("aten::_is_all_true.default", T("f32", 2))


def views() -> None:
    x = T("f32", 2, 3, 4)
    for sizes in ([-1], [6, 4], [2, -1, 2], [-1, -1], [5, -1], [25], [2, -2, 6], [24, 1], [2, 3, 4, -1]):
        call("aten::view.default", x, sizes)
    call("aten::view.default", T("f32", 0, 2), [0, -1])
    call("aten::view.default", T("f32", 0, 2), [-1, 2])
    call("aten::view.default", T("f32", 0, 2), [3, 0])
    call("aten::view.default", T("f32"), [1, 1])
    call("aten::view.default", T("f32", 1), [])
    call("aten::reshape.default", x, [4, -1])
    for dims in ([2, 0, 1], [-1, 0, 1], [0, 1], [0, 0, 1], [0, 1, 3]):
        call("aten::permute.default", x, dims)
    call("aten::permute.default", T("f32"), [])
    call("aten::transpose.int", x, 0, -1)
    call("aten::transpose.int", x, 0, 3)
    call("aten::t.default", T("f32", 2, 3))
    call("aten::t.default", x)
    for sizes in ([2, -1, 3], [4, 2, 5, 3], [2, 5, 4], [2, 5], [-1, 2, 5, 3], [2, -2, 3], [0, 5, 3]):
        call("aten::expand.default", T("f32", 2, 1, 3), sizes)
    call("aten::expand.default", T("f32"), [2, 3])
    call("aten::expand.default", T("f32", 1), [0])
    call("aten::expand_as.default", T("f32", 3), T("i64", 2, 3))
    for dim in (0, -1, 3, 4, -5):
        call("aten::unsqueeze.default", x, dim)
    for dim in (0, 1, -1, 3):
        call("aten::squeeze.dim", T("f32", 1, 2, 1), dim)
    for dims in ([0], [0, 2], [0, 1], [], [0, 0], [3]):
        call("aten::squeeze.dims", T("f32", 1, 2, 1), dims)
    call("aten::squeeze.dim", T("f32"), 0)
    for dim, index in ((0, 1), (0, 2), (-1, -4), (-1, -5), (3, 0)):
        call("aten::select.int", x, dim, index)
    call("aten::select.int", T("f32"), 0, 0)
    for arguments in (
        (0,), (2, 1), (2, 1, 3), (2, -3, -1), (2, 3, 1), (2, 0, 100), (2, 0, 4, 3), (2, None, None, 2),
        (2, 0, 4, 0), (2, 0, 4, -1), (3,), (2, 9223372036854775807),
    ):  # fmt: skip
        call("aten::slice.Tensor", x, *arguments)
    call("aten::slice.Tensor", T("f32"), 0)
    for sizes in ([1, 3], [4], [2, 1], [5, -1], [0, 4]):
        call("aten::split_with_sizes.default", x, sizes, 2)
    for size in (1, 3, 4, 9, 0, -1):
        call("aten::split.Tensor", x, size, 2)
    call("aten::split.Tensor", T("f32", 0), 0)
    for chunks in (1, 3, 4, 9, 0):
        call("aten::chunk.default", x, chunks, 2)
    call("aten::chunk.default", T("f32", 0, 2), 3)
    call("aten::unbind.int", x, 1)
    call("aten::unbind.int", T("f32"))
    call("aten::flatten.using_ints", x)
    call("aten::flatten.using_ints", x, 1, 2)
    call("aten::flatten.using_ints", x, 2, 1)
    call("aten::flatten.using_ints", T("f32"))
    call("aten::unflatten.int", x, 2, [2, -1])
    call("aten::unflatten.int", x, 2, [3, -1])
    for arguments in ((), (1,), (-1,), (5,), (-5,), (0, 1, 2), (0, 1, 1)):
        call("aten::diagonal.default", x, *arguments)
    call("aten::as_strided.default", x, [2, 2], [4, 1])
    call("aten::as_strided.default", x, [2, 2], [4, 1], 19)
    call("aten::as_strided.default", x, [2, 2], [4, 1], 18)
    call("aten::as_strided.default", x, [2, 2], [4])
    call("aten::as_strided.default", x, [2], [-1])
    call("aten::as_strided.default", x, [0, 100], [1, 1])
    for arguments in ((2, 2, 1), (2, 2, 3), (2, 5, 1), (2, 2, 0), (0, 0, 1)):
        call("aten::unfold.default", x, *arguments)
    call("aten::unfold.default", T("f32"), 0, 1, 1)
    call("aten::view_as_real.default", T("c64", 3))
    call("aten::view_as_real.default", T("f32", 3))
    call("aten::view_as_complex.default", T("f64", 3, 2))
    call("aten::view_as_complex.default", T("f32", 3))


def rearrangements() -> None:
    x = T("f32", 2, 3)
    call("aten::cat.default", [x, T("f64", 1, 3)])
    call("aten::cat.default", [x, T("i64", 2, 1)], -1)
    call("aten::cat.default", [x, T("f32", 1, 3)], 1)
    call("aten::cat.default", [x, T("f32", 0)], 1)
    call("aten::cat.default", [T("f32", 0), T("f32", 0)])
    call("aten::cat.default", [x, T("f32", 3)])
    call("aten::cat.default", [x, T("f32")])
    call("aten::cat.default", [x, x], 2)
    call("aten::cat.default", [])
    call("aten::stack.default", [x, x], 2)
    call("aten::stack.default", [x, x], 3)
    call("aten::stack.default", [x, T("f32", 3, 2)])
    call("aten::stack.default", [x, T("f16", 2, 3)])
    for repeats in ([2, 1], [4, 2, 1], [2], [2, -1], [0, 1]):
        call("aten::repeat.default", x, repeats)
    for dims in ([0], [0, -1], [], [0, 0], [2]):
        call("aten::flip.default", x, dims)
    for pad in ([1, 2], [1, 2, 3, 4], [1], [1, 2, 3, 4, 5, 6], [-1, -1], [-2, -2], [-3, 0], [], [0, 0, -1, -1]):
        call("aten::constant_pad_nd.default", x, pad)
    call("aten::reflection_pad1d.default", x, [2, 1])
    call("aten::reflection_pad1d.default", x, [3, 1])
    call("aten::reflection_pad2d.default", T("f32", 2, 3, 4), [3, 3, 2, 2])
    call("aten::reflection_pad2d.default", T("f32", 0, 2, 3, 4), [1, 1, 1, 1])
    call("aten::reflection_pad2d.default", T("f32", 2, 0, 3, 4), [1, 1, 1, 1])
    call("aten::reflection_pad3d.default", T("f32", 1, 2, 3, 4), [1] * 6)
    call("aten::replication_pad2d.default", T("f32", 2, 3, 4), [5, 0, 0, 1])
    call("aten::replication_pad2d.default", T("f32", 3, 4), [5, 0, 0, 1])
    call("aten::replication_pad3d.default", T("f32", 1, 2, 3, 4), [1] * 6)
    call("aten::tril.default", x, 1)
    call("aten::triu.default", T("f32", 3))


def indexing() -> None:
    x = T("f32", 2, 3, 4)
    i, j = T("i64", 5), T("i64", 2, 1)
    for indices in (
        [i], [i, j], [None, i], [i, None, j], [None, i, j], [i, None, None], [i, i, i], [i, i, i, i],
        [T("i32", 2), T("i64", 2)], [T("f32", 2)], [T("i64", 2), T("i64", 3)], [T("i64")], [T("u8", 2), None],
    ):  # fmt: skip
        if indices[0] is not None and indices[0].dtype == "u8":
            continue  # a mask: the size depends on data
        call("aten::index.Tensor", x, indices)
    call("aten::index_put.default", x, [i], T("f32", 5, 3, 4))
    call("aten::index_put.default", x, [i], T("f32", 4))
    call("aten::index_put.default", x, [i], T("f32", 5))
    call("aten::index_put.default", x, [i], T("f64", 4))
    call("aten::index_put.default", x, [T("bool", 2)], T("f32"))
    call("aten::index_put.default", x, [T("bool", 3)], T("f32"))
    call("aten::index_select.default", x, 1, i)
    call("aten::index_select.default", x, 1, T("i32", 2))
    call("aten::index_select.default", x, 1, T("i64"))
    call("aten::index_select.default", x, 1, j)
    call("aten::index_select.default", x, 1, T("f32", 2))
    call("aten::index_select.default", T("f32"), 0, T("i64", 1))
    y = T("f32", 3, 4)
    for index in (T("i64", 2, 4), T("i64", 9, 4), T("i64", 9, 5), T("i64", 3), T("i64", 0, 9), T("f32", 3, 4)):
        call("aten::gather.default", y, 0, index)
        call("aten::scatter.src", y, 0, index, T("f32", 9, 9))
        call("aten::scatter.value", y, 0, index, 1.5)
    call("aten::gather.default", y, 2, T("i64", 2, 4))
    call("aten::gather.default", T("f32"), 0, T("i64"))
    call("aten::scatter.src", y, 0, T("i64", 2, 4), T("f32", 2, 4))
    call("aten::scatter.src", y, 0, T("i64", 2, 4), T("f32", 1, 4))
    call("aten::scatter.src", y, 0, T("i64", 2, 4), T("f64", 2, 4))
    call("aten::scatter_add.default", y, 1, T("i64", 3, 9), T("f32", 3, 9))
    call("aten::scatter_reduce.two", y, 1, T("i64", 3, 4), T("f32", 3, 4), "amax")
    call("aten::scatter_reduce.two", y, 1, T("i64", 3, 4), T("f32", 3, 4), "max")
    call("aten::embedding.default", T("f16", 7, 3), T("i64", 2, 5))
    call("aten::embedding.default", T("f16", 7, 3), T("i32"))
    call("aten::embedding.default", T("f16", 7, 3), T("f32", 2))
    call("aten::embedding.default", T("f16", 7), T("i64", 2))
    call("aten::embedding_dense_backward.default", T("f32", 2, 5, 3), T("i64", 2, 5), 7, -1, False)
    call("aten::select_scatter.default", x, T("f32", 2, 4), 1, -1)
    call("aten::select_scatter.default", x, T("f32", 2, 4), 1, 3)
    call("aten::select_scatter.default", x, T("f32", 4), 1, 0)
    call("aten::slice_scatter.default", x, T("f32", 2, 2, 4), 1, 1)
    call("aten::slice_scatter.default", x, T("f32", 2, 3, 4), 1, 1)


def factories() -> None:
    for arguments in (
        (0, 32), (0, 1, 0.3), (5, 0, -2), (5, 0), (0, 0), (0, 5, 0), (0.0, 5), (1, 10, 3), (0, 2.5), (-3, 3, 2),
    ):  # fmt: skip
        for dtype in (None, torch.int64, torch.int32, torch.float32):
            call("aten::arange.start_step", *arguments, dtype=dtype)
    for value in (True, 2, 2.5):
        call("aten::full.default", [2, 3], value)
        call("aten::full.default", [], value, dtype=torch.bfloat16)
        call("aten::full_like.default", T("i64", 2), value)
        call("aten::scalar_tensor.default", value)
    call("aten::full.default", [2, -1], 0)
    call("aten::scalar_tensor.default", 2, dtype=torch.int64)
    for name in ("zeros", "ones", "rand", "randn"):
        call(f"aten::{name}.default", [2, 0])
        call(f"aten::{name}.default", [2], dtype=torch.int64)
    call("aten::empty.memory_format", [2, -3])
    call("aten::empty_permuted.default", [2, 3], [1, 0])
    call("aten::empty_permuted.default", [2, 3], [0, 0])
    call("aten::zeros_like.default", T("f16", 2), dtype=torch.float64)
    call("aten::randn_like.default", T("i64", 2))
    call("aten::randn_like.default", T("f16", 2))
    call("aten::randperm.default", 5)
    call("aten::randperm.default", -1)


def products() -> None:
    for dtype in ("bool", "i64", "f16", "c64"):
        call("aten::mm.default", T(dtype, 2, 3), T(dtype, 3, 4))
    call("aten::mm.default", T("f32", 2, 3), T("f32", 4, 5))
    call("aten::mm.default", T("f32", 2, 3), T("f64", 3, 4))
    call("aten::mm.default", T("f32", 2, 3), T("f32", 3))
    call("aten::mm.default", T("f32", 0, 3), T("f32", 3, 4))
    call("aten::bmm.default", T("f32", 5, 2, 3), T("f32", 5, 3, 4))
    call("aten::bmm.default", T("f32", 5, 2, 3), T("f32", 4, 3, 4))
    call("aten::bmm.default", T("f32", 5, 2, 3), T("f32", 5, 2, 4))
    call("aten::bmm.default", T("f32", 2, 3), T("f32", 3, 4))
    for bias in (T("f32", 4), T("f32", 2, 4), T("f32", 2, 1), T("f32"), T("f32", 3), T("f32", 1, 2, 4), T("f64", 4)):
        call("aten::addmm.default", bias, T("f32", 2, 3), T("f32", 3, 4))
    call("aten::addmm.default", T("i64", 4), T("i64", 2, 3), T("i64", 3, 4), alpha=1.5)
    call("aten::baddbmm.default", T("f32", 4), T("f32", 5, 2, 3), T("f32", 5, 3, 4), beta=2)
    call("aten::linear.default", T("f32", 5, 2, 3), T("f32", 4, 3), T("f32", 4))
    call("aten::linear.default", T("f32", 3), T("f32", 4, 3))
    call("aten::linear.default", T("f32", 5, 3), T("f32", 3))
    call("aten::linear.default", T("f32", 5, 3), T("f32", 3, 4))
    shapes = ([3], [2, 3], [3, 4], [5, 2, 3], [1, 3, 4], [6, 1, 3, 4], [])
    for a, b in itertools.product(shapes, shapes):
        call("aten::matmul.default", T("f32", *a), T("f32", *b))
    q, k = T("f32", 2, 4, 5, 8), T("f32", 2, 4, 7, 8)
    sdpa = "aten::scaled_dot_product_attention.default"
    call(sdpa, q, k, T("f32", 2, 4, 7, 6))
    call(sdpa, q, k, T("f32", 2, 4, 6, 8))
    call(sdpa, q, T("f32", 2, 4, 7, 9), k)
    call(sdpa, q, k, k, T("bool", 5, 7))
    call(sdpa, q, k, k, T("bool", 5, 6))
    call(sdpa, q, k, k, T("f32", 5, 7), 0.0, True)
    call(sdpa, q, T("f32", 2, 2, 7, 8), T("f32", 2, 2, 7, 8), enable_gqa=True)
    call(sdpa, q, T("f32", 2, 3, 7, 8), T("f32", 2, 3, 7, 8), enable_gqa=True)
    call("aten::_cdist_forward.default", T("f32", 2, 5, 3), T("f32", 4, 3), 2.0, None)
    call("aten::_cdist_forward.default", T("f32", 5, 3), T("f32", 4, 2), 2.0, None)
    call("aten::_pdist_forward.default", T("f32", 5, 3))


def convolutions() -> None:
    name = "aten::convolution.default"
    x = T("f32", 2, 6, 9, 9)

    def conv(weight, bias=None, stride=(1,), padding=(0,), dilation=(1,), transposed=False, output=(0,), groups=1, data=x):
        call(name, data, weight, bias, list(stride), list(padding), list(dilation), transposed, list(output), groups)

    w = T("f32", 4, 6, 3, 3)
    conv(w, T("f32", 4), (2, 2), (1, 1), (1, 1), output=(0, 0))
    conv(w, T("f32", 4))
    conv(w, T("f32", 5))
    conv(w, padding=(-1,))
    conv(w, stride=(0,))
    conv(w, stride=(2, 1), padding=(1, 0), dilation=(1, 2))
    conv(w, dilation=(5, 5))
    conv(T("f32", 4, 3, 3, 3), groups=2)
    conv(T("f32", 4, 3, 3, 3), groups=1)
    conv(T("f32", 5, 3, 3, 3), groups=2)
    conv(T("f64", 4, 6, 3, 3))
    conv(T("f32", 4, 6, 3))
    conv(w, groups=0)
    conv(T("f32", 6, 4, 3, 3), T("f32", 4), (2, 2), (1, 1), (1, 1), True, (1, 1))
    conv(T("f32", 6, 4, 3, 3), None, (2, 2), (1, 1), (1, 1), True, (2, 2))
    conv(T("f32", 6, 2, 3, 3), T("f32", 4), (2, 2), (1, 1), (1, 1), True, (0, 0), 2)
    conv(T("f32", 4, 6, 3, 3), None, (1, 1), (0, 0), (1, 1), True, (0, 0))
    conv(T("f32", 4, 1, 4), T("f32", 4), (1,), (3,), (1,), False, (0,), 4, T("f32", 2, 4, 8))
    conv(T("f32", 4, 6, 1, 2, 3), data=T("f32", 1, 6, 3, 4, 5))
    conv(w, data=T("f32", 0, 6, 9, 9))
    call("aten::conv1d.default", T("f32", 6, 9), T("f32", 4, 6, 3))
    call("aten::conv2d.default", x, w, None, [2], [1])
    backward = ([4], [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [True, True, True])
    call("aten::convolution_backward.default", T("f32", 2, 4, 7, 7), x, w, *backward)
    call("aten::convolution_backward.default", T("f32", 2, 4, 8, 7), x, w, *backward)


def pools() -> None:
    x = T("f32", 2, 3, 7, 8)
    for name in ("max_pool2d_with_indices.default", "avg_pool2d.default"):
        for arguments in (
            ([3, 3], [2, 2], [1, 1]), ([3], [2]), ([2, 3],), ([3, 3], [2, 2], [2, 2]), ([9, 9],), ([0, 1],),
            ([3, 3], [0, 1]), ([3, 3, 3],), ([2, 2], [2, 2], [-1, 0]),
        ):  # fmt: skip
            call(f"aten::{name}", x, *arguments)
        call(f"aten::{name}", x, [3, 3], [2, 2], [1, 1], ceil_mode=True)
        call(f"aten::{name}", x, [2, 2], [3, 3], [1, 1], ceil_mode=True)
        call(f"aten::{name}", T("f32", 3, 7, 8), [2, 2])
        call(f"aten::{name}", T("f32", 7, 8), [2, 2])
        call(f"aten::{name}", T("f32", 0, 3, 7, 8), [2, 2])
        call(f"aten::{name}", T("f32", 2, 0, 7, 8), [2, 2])
        call(f"aten::{name}", T("i64", 2, 3, 7, 8), [2, 2])
        call(f"aten::{name}", T("bool", 2, 3, 7, 8), [2, 2])
    call("aten::max_pool2d_with_indices.default", x, [3, 3], [1, 1], [0, 0], [2, 2])
    call("aten::avg_pool2d.default", x, [2, 2], divisor_override=0)
    call("aten::max_pool3d_with_indices.default", T("f32", 2, 3, 4, 5, 6), [2, 2, 2])
    call("aten::avg_pool1d.default", T("f32", 2, 3, 7), [2], [1], [1])
    call("aten::avg_pool3d.default", T("f32", 2, 3, 4, 5, 6), [2, 2, 2])
    call("aten::_adaptive_avg_pool2d.default", x, [1, 2])
    call("aten::_adaptive_avg_pool2d.default", x, [1, -1])
    call("aten::_adaptive_avg_pool2d.default", T("f32", 7, 8), [1, 1])
    call("aten::_adaptive_avg_pool3d.default", T("f32", 2, 3, 4, 5, 6), [1, 1, 1])
    call("aten::adaptive_avg_pool1d.default", T("f32", 3, 8), [2])
    call("aten::avg_pool2d_backward.default", T("f32", 2, 3, 3, 4), x, [2, 2], [2, 2], [0, 0], False, True, None)
    call("aten::avg_pool2d_backward.default", T("f32", 2, 3, 4, 4), x, [2, 2], [2, 2], [0, 0], False, True, None)
    call(
        "aten::max_pool2d_with_indices_backward.default",
        T("f32", 2, 3, 3, 4), x, [2, 2], [2, 2], [0, 0], [1, 1], False, T("i64", 2, 3, 3, 4),
    )  # fmt: skip


def norms() -> None:
    x = T("f32", 2, 5, 6)
    layer = "aten::native_layer_norm.default"
    call(layer, x, [6], T("f32", 6), T("f32", 6), 1e-5)
    call(layer, x, [5, 6], None, None, 1e-5)
    call(layer, x, [5], None, None, 1e-5)
    call(layer, x, [], None, None, 1e-5)
    call(layer, x, [6], T("f32", 5), None, 1e-5)
    call(layer, T("bf16", 2, 6), [6], T("bf16", 6), T("bf16", 6), 1e-5)
    call(layer, T("bf16", 2, 6), [6], T("f32", 6), T("f32", 6), 1e-5)
    call(layer, x, [6], T("f64", 6), T("f64", 6), 1e-5)
    call(layer, T("i64", 2, 6), [6], None, None, 1e-5)
    call("aten::rms_norm.default", x, [6], T("f32", 6))
    call("aten::rms_norm.default", x, [5])
    group = "aten::native_group_norm.default"
    y = T("f32", 2, 6, 4, 4)
    call(group, y, T("f32", 6), T("f32", 6), 2, 6, 16, 3, 1e-5)
    call(group, y, T("f32", 6), T("f32", 6), 2, 6, 16, 4, 1e-5)
    call(group, y, T("f32", 5), T("f32", 6), 2, 6, 16, 3, 1e-5)
    call(group, y, None, None, 2, 6, 15, 3, 1e-5)
    c = [T("f32", 6)] * 4
    call("aten::_native_batch_norm_legit_no_training.default", y, *c, 0.1, 1e-5)
    call("aten::_native_batch_norm_legit_no_training.default", y, *c[:3], T("f32", 5), 0.1, 1e-5)
    call("aten::_native_batch_norm_legit.no_stats", y, *c[:2], True, 0.1, 1e-5)
    call("aten::_native_batch_norm_legit.default", y, *c, True, 0.1, 1e-5)
    call("aten::_native_batch_norm_legit_functional.default", y, *c, True, 0.1, 1e-5)
    call("aten::batch_norm.default", y, *c, False, 0.1, 1e-5, False)
    call("aten::batch_norm.default", y, *c[:2], None, None, False, 0.1, 1e-5, False)
    call("aten::group_norm.default", y, 3)
    call("aten::group_norm.default", y, 4)


def spatial() -> None:
    x = T("f32", 2, 3, 4, 5)
    up = "aten::upsample_nearest2d.vec"
    call(up, x, [8, 10], None)
    call(up, x, None, [2.0, 1.5])
    call(up, x, None, None)
    call(up, x, [8, 10], [2.0, 2.0])
    call(up, x, [0, 10], None)
    call(up, x, [8], None)
    call(up, T("f32", 3, 4, 5), [8, 10], None)
    call("aten::upsample_bilinear2d.vec", x, None, False, [2.0, 2.0])
    grid = "aten::grid_sampler_2d.default"
    call(grid, x, T("f32", 2, 7, 8, 2), 0, 0, False)
    call(grid, x, T("f32", 1, 7, 8, 2), 0, 0, False)
    call(grid, x, T("f32", 2, 7, 8, 3), 0, 0, False)
    call(grid, x, T("f64", 2, 7, 8, 2), 0, 0, False)
    col = "aten::col2im.default"
    call(col, T("f32", 2, 12, 12), [4, 5], [2, 2], [1, 1], [0, 0], [1, 1])
    call(col, T("f32", 2, 12, 13), [4, 5], [2, 2], [1, 1], [0, 0], [1, 1])
    call(col, T("f32", 2, 11, 12), [4, 5], [2, 2], [1, 1], [0, 0], [1, 1])
    call("aten::_fft_c2c.default", T("c64", 2, 8), [1], 0, True)
    call("aten::_fft_c2c.default", T("f32", 2, 8), [1], 0, True)
    call("aten::_fft_r2c.default", T("f32", 2, 8), [1], 0, True)
    call("aten::_fft_r2c.default", T("f64", 2, 8), [0, 1], 0, False)
    call("aten::_fft_c2r.default", T("c64", 2, 5), [1], 0, 8)


def composites() -> None:
    """Operators that PyTorch itself decomposes."""
    x = T("f32", 2, 1, 4)
    for name, dtype in itertools.product(
        "hardsigmoid hardswish mish relu6 selu softplus square lift_fresh_copy".split(), ("bool", "i64", "f16")
    ):
        call(f"aten::{name}.default", T(dtype, 2))
    call("aten::__and__.Tensor", T("bool", 2), T("i32", 2))
    call("aten::__or__.Tensor", T("f32", 2), T("i32", 2))
    call("aten::rsub.Scalar", T("i64", 2), 1.5)
    call("aten::clamp_min.default", T("i64", 2), 0.5)
    call("aten::clamp_max.default", T("f16", 2), 1)
    for name, a, b in (("Scalar", 1, 2.5), ("ScalarOther", T("i64", 3), 0.5), ("ScalarSelf", 1, T("f16", 3))):
        call(f"aten::where.{name}", T("bool", 3), a, b)
    call("aten::where.Scalar", T("bool", 3), True, False)
    call("aten::masked_fill_.Scalar", T("f32", 2, 3), T("bool", 3), 1)
    call("aten::masked_fill_.Scalar", T("f32", 3), T("bool", 2, 3), 1)
    call("aten::broadcast_to.default", x, [2, 3, 4])
    call("aten::swapdims.default", x, 0, -1)
    call("aten::swapaxes.default", x, 0, 3)
    call("aten::numpy_T.default", T("f32", 2, 3))
    call("aten::movedim.int", x, 0, -1)
    call("aten::movedim.int", x, 2, 0)
    call("aten::movedim.int", x, 2, 3)
    call("aten::squeeze.default", x)
    call("aten::unsqueeze_.default", x, -1)
    call("aten::view_as.default", x, T("i64", 8))
    call("aten::view_as.default", x, T("i64", 9))
    for start, length in ((0, 4), (1, 3), (1, 4), (-1, 1), (-5, 1), (4, 0), (5, 0), (0, -1)):
        call("aten::narrow.default", x, 2, start, length)
    for dims in ([2], [2, 1, 1, 3], [], [-1]):
        call("aten::tile.default", x, dims)
    call("aten::repeat_interleave.self_int", x, 3)
    call("aten::repeat_interleave.self_int", x, 3, 1)
    call("aten::repeat_interleave.self_int", x, -1, 1)
    call("aten::repeat_interleave.self_int", T("f32"), 3, 0)
    for mode in ("constant", "reflect", "replicate", "circular", "other"):
        call("aten::pad.default", x, [1, 2], mode)
        call("aten::pad.default", x, [4, 4], mode)
        call("aten::pad.default", x, [5, 0], mode)
        call("aten::pad.default", x, [1], mode)
    call("aten::arange.default", 5)
    call("aten::arange.default", 2.5)
    call("aten::arange.default", -1)
    call("aten::arange.start", 2, 5)
    call("aten::new_full.default", T("f16", 2), [3], 1.5)
    call("aten::new_zeros.default", T("i8", 2), [3, 0], dtype=torch.float32)
    call("aten::new_ones.default", T("i8", 2), [-3])
    call("aten::empty_like.default", T("i8", 2))
    call("aten::sum.default", T("bool", 2))
    call("aten::sum.default", T("f16", 2))
    call("aten::logsumexp.default", x, [0, 2])
    call("aten::logsumexp.default", T("i64", 2), [0], True)
    call("aten::logsumexp.default", T("f32", 0), [0])
    call("aten::cosine_similarity.default", x, T("f32", 3, 4))
    call("aten::cosine_similarity.default", x, T("f32", 3, 5))
    call("aten::cosine_similarity.default", T("i64", 2, 3), T("i64", 2, 3))
    for padding in ("same", "valid", "full"):
        call("aten::conv1d.padding", T("f32", 2, 6, 9), T("f32", 4, 6, 4), None, [1], padding)
        call("aten::conv2d.padding", T("f32", 6, 9, 9), T("f32", 4, 6, 3, 2), None, [1], padding, [2, 1])
        call("aten::conv2d.padding", T("f32", 2, 6, 9, 9), T("f32", 4, 6, 3, 2), None, [2], padding)
    call("aten::dropout_.default", T("f32", 2), 0.5, True)
    call("aten::relu_.default", T("i64", 2))
    call("aten::to.dtype_layout", T("f32", 2), dtype=torch.float64)


if __name__ == "__main__":
    write(
        pointwise, reductions, views, rearrangements, indexing, factories, products, convolutions, pools, norms,
        spatial, composites,
    )  # fmt: skip
