"""Write spatial_calls.json: calls of spatial operators, distances and copies of views, and PyTorch's fp64 answers.

    python3 core/decompose/testdata/spatial_calls.py > core/decompose/testdata/spatial_calls.json

A call is [operator, {argument: value}, [results]] as in composite_calls.py; a result of which PyTorch promises nothing
is null. Operators with a decomposition are held against it, the others against the reference's kernel.

Written with torch 2.13.0+cpu.
"""

from __future__ import annotations

import itertools
import math

import torch
from call_text import INF, NAN, call, calls, encode, f, write

torch.manual_seed(5)


def distinct(*shape: int) -> torch.Tensor:
    return torch.randperm(math.prod(shape)).reshape(shape).double() / 4


def resampling() -> None:
    sizes = [([5], [8]), ([8], [5]), ([4], [4]), ([3], [6]), ([5], [1]), ([1], [4]), ([7], [3])]
    kinds = {1: ["upsample_linear1d"], 2: ["upsample_bilinear2d", "upsample_bicubic2d"], 3: ["upsample_trilinear3d"]}
    filtered = ["_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa"]
    for n in (1, 2, 3):
        for k, (small, large) in enumerate(sizes):
            from_ = [small[0], 4, 3][:n] if n < 3 else [small[0], 2, 3]
            to = [large[0], 3, 5][:n] if n < 3 else [large[0], 3, 2]
            x = f(1, 2, *from_) if n < 3 else f(1, 1, *from_)
            for name in (f"upsample_nearest{n}d", f"_upsample_nearest_exact{n}d"):
                call(f"{name}.default", self_=x, output_size=to)
            for name, align in itertools.product(kinds[n] + (filtered if n == 2 else []), (False, True)):
                if n == 2 or not align or k < 3:
                    call(f"{name}.default", self_=x, output_size=to, align_corners=align)
    for n in (1, 2, 3):
        x = f(1, 1, *[5, 4, 3][:n])
        for factors in ([1.7, 2.0, 0.6][:n], [2.0, 2.0, 2.0][:n], [0.5, 0.75, 1.0][:n]):
            for name in (f"upsample_nearest{n}d", f"_upsample_nearest_exact{n}d"):
                call(f"{name}.vec", input=x, output_size=None, scale_factors=factors)
            for name in kinds[n] + (filtered if n == 2 else []):
                call(f"{name}.vec", input=x, output_size=None, align_corners=False, scale_factors=factors)
    call("upsample_bilinear2d.vec", input=f(1, 1, 3, 3), output_size=[5, 7], align_corners=True, scale_factors=None)
    call("upsample_bilinear2d.default", self_=f(1, 1, 5, 5), output_size=[8, 8], align_corners=False, scales_h=1.7, scales_w=1.6)
    call("upsample_nearest2d.default", self_=f(1, 1, 5, 5), output_size=[8, 8], scales_h=1.7, scales_w=1.6)
    call("upsample_nearest1d.default", self_=f(1, 1, 5), output_size=[8], scales=1.7)
    call("upsample_trilinear3d.default", self_=f(1, 1, 2, 3, 2), output_size=[3, 5, 5], align_corners=False, scales_d=1.5, scales_h=1.9, scales_w=2.5)
    call("upsample_nearest2d.vec", input=torch.arange(6, dtype=torch.uint8).reshape(1, 1, 2, 3), output_size=[3, 5], scale_factors=None)


def grids() -> None:
    image, grid = f(2, 2, 4, 5), (torch.rand(2, 3, 3, 2, dtype=torch.float64) * 96 - 48).round() / 32
    for mode, padding, align in itertools.product((0, 1, 2), (0, 1, 2), (False, True)):
        # Nearest: places away from the middle between two elements.
        places = grid + 0.003 if mode == 1 else grid
        call("grid_sampler_2d.default", input=image, grid=places, interpolation_mode=mode, padding_mode=padding, align_corners=align)
    volume, grid = f(1, 2, 2, 3, 2), (torch.rand(1, 2, 2, 2, 3, dtype=torch.float64) * 96 - 48).round() / 32 + 0.003
    for mode, padding, align in itertools.product((0, 1), (0, 1, 2), (False, True)):
        call("grid_sampler_3d.default", input=volume, grid=grid, interpolation_mode=mode, padding_mode=padding, align_corners=align)
    call("grid_sampler.default", input=image, grid=f(2, 1, 2, 2) / 4, interpolation_mode=0, padding_mode=0, align_corners=False)
    call("grid_sampler.default", input=volume, grid=grid, interpolation_mode=0, padding_mode=1, align_corners=True)


def pads() -> None:
    for n, name in itertools.product((1, 2, 3), ("reflection", "replication")):
        x = f(1, 2, *[4, 3, 5][:n])
        for padding in ([1, 2, 2, 0, 1, 1], [3, 0, 0, 1, 0, 2], [0, 0, 1, 0, 2, 2]):
            padding = padding[: 2 * n] if n > 1 else [padding[0], min(padding[1], 3)]
            limited = [min(p, x.shape[-1 - i // 2] - 1) for i, p in enumerate(padding)]
            call(f"{name}_pad{n}d.default", self_=x, padding=limited)
            call(f"{name}_pad{n}d.default", self_=x[0], padding=limited)
    call("replication_pad2d.default", self_=f(1, 1, 3, 3), padding=[7, 5, -1, 4])
    call("reflection_pad2d.default", self_=f(1, 1, 4, 4), padding=[-1, 2, 1, -2])
    call("reflection_pad1d.default", self_=torch.arange(4).reshape(1, 4), padding=[2, 3])
    for mode in ("constant", "reflect", "replicate", "circular"):
        call("pad.default", self_=f(1, 2, 4), pad=[2, 3], mode=mode)
        call("pad.default", self_=f(2, 4, 3), pad=[1, 2, 2, 1], mode=mode)
        call("pad.default", self_=f(1, 1, 2, 3, 2), pad=[1, 0, 2, 1, 0, 1], mode=mode)
    call("pad.default", self_=f(1, 2, 4), pad=[-1, 2], mode="circular")
    call("pad.default", self_=f(1, 2, 4), pad=[4, 4], mode="circular")


def pools() -> None:
    for n, name in ((1, "avg_pool1d"), (2, "avg_pool2d"), (3, "avg_pool3d")):
        x = f(1, 2, *[7, 6, 5][:n]) if n < 3 else f(1, 1, 5, 4, 4)
        for ceil, include in itertools.product((False, True), (False, True)):
            call(f"{name}.default", self_=x, kernel_size=[3] * n, stride=[2] * n, padding=[1] * n, ceil_mode=ceil, count_include_pad=include)
        call(f"{name}.default", self_=x[0], kernel_size=[2])
    call("avg_pool2d.default", self_=f(1, 1, 5, 5), kernel_size=[3, 2], divisor_override=-4)
    call("avg_pool3d.default", self_=f(1, 1, 4, 4, 4), kernel_size=[2], stride=[2], ceil_mode=True, divisor_override=3)
    call("avg_pool2d.default", self_=torch.tensor([[[-7, 2], [3, -4]]]), kernel_size=[2])
    call("avg_pool1d.default", self_=torch.tensor([[1, 2, 3, 4, 5]]).double(), kernel_size=[2], stride=[2], ceil_mode=True)
    x = torch.arange(9).double().reshape(1, 3, 3)
    for padding, include in (([0], True), ([1], True), ([1], False)):
        call("avg_pool2d.default", self_=x, kernel_size=[2], stride=[2], padding=padding, ceil_mode=True, count_include_pad=include)
    for sizes in ([3, 2], [1, 1], [5, 6], [7, 4]):
        call("adaptive_avg_pool2d.default" if sizes[0] == 3 else "_adaptive_avg_pool2d.default", self_=f(2, 5, 6), output_size=sizes)
        call("adaptive_max_pool2d.default", self_=distinct(2, 5, 6), output_size=sizes)
        call("_adaptive_avg_pool3d.default", self_=f(1, 1, 3, 5, 6), output_size=[2] + sizes)
        call("adaptive_max_pool3d.default", self_=distinct(1, 3, 5, 6), output_size=[2] + sizes)
    call("adaptive_avg_pool3d.default", self_=f(1, 1, 3, 5, 6), output_size=[2, 2, 2])
    call("adaptive_max_pool1d.default", self_=distinct(1, 2, 7), output_size=[3])
    call("adaptive_max_pool2d.default", self_=torch.tensor([[[1.0, NAN], [3.0, -INF]]]).double(), output_size=[1, 2])
    samples = (torch.rand(2, 2, 3, dtype=torch.float64) * 16).floor() / 16 + 1 / 64
    call("fractional_max_pool2d.default", self_=distinct(2, 2, 7, 9), kernel_size=[2, 3], output_size=[4, 5], random_samples=samples[:, :, :2].contiguous())
    call("fractional_max_pool2d.default", self_=distinct(2, 7, 9), kernel_size=[2, 2], output_size=[3, 1], random_samples=samples[:1, :, :2].contiguous())
    call("fractional_max_pool3d.default", self_=distinct(1, 2, 5, 6, 7), kernel_size=[2, 2, 3], output_size=[3, 2, 4], random_samples=samples[:1])
    spread = torch.tensor([[[0, 3], [9, 14]], [[5, 2], [1, 15]]])
    call("max_unpool2d.default", self_=f(2, 2, 2), indices=spread, output_size=[4, 4])
    call("max_unpool2d.default", self_=f(1, 2, 2, 2), indices=spread[None], output_size=[3, 6])
    call("max_unpool3d.default", self_=f(2, 1, 2, 2), indices=spread[:, None], output_size=[2, 3, 4], stride=[1, 2, 2], padding=[0, 0, 0])
    for kernel, dilation, padding, stride in (([2, 3], [1, 1], [0, 0], [1, 1]), ([3, 2], [1, 2], [1, 1], [2, 1]), ([1, 1], [1, 1], [0, 1], [3, 2])):
        x = f(1, 2, 5, 6)
        how = {"kernel_size": kernel, "dilation": dilation, "padding": padding, "stride": stride}
        call("im2col.default", self_=x, **how)
        call("im2col.default", self_=x[0], **how)
        columns = f(*torch.ops.aten.im2col(x, kernel, dilation, padding, stride).shape)
        call("col2im.default", self_=columns, output_size=[5, 6], **how)
        call("col2im.default", self_=columns[0], output_size=[5, 6], **how)


def distances() -> None:
    a, b = f(2, 3, 4), f(1, 5, 4)
    b[0, 1] = a[1, 2]
    for p in (2.0, 1.0, 0.0, INF, 3.0, 0.5):
        call("_cdist_forward.default", x1=a, x2=b, p=p, compute_mode=None)
        far = torch.cdist(a, b, p=p)
        call("_cdist_backward.default", grad=f(2, 3, 5), x1=a, x2=b.expand(2, 5, 4).contiguous(), p=p, cdist=far)
        call("_pdist_forward.default", self_=f(4, 3), p=p)
        call("dist.default", self_=a, other=b[:, :1], p=p)
        call("pairwise_distance.default", x1=a, x2=b[:, :3], p=p, eps=1e-3, keepdim=p > 1)
    call("_cdist_forward.default", x1=f(30, 3), x2=f(2, 3), p=2.0, compute_mode=1)
    call("_cdist_forward.default", x1=f(2, 0), x2=f(3, 0), p=2.0, compute_mode=None)
    call("cdist.default", x1=a, x2=b, p=1.0)
    call("pdist.default", self_=f(3, 2))
    call("_trilinear.default", i1=f(2, 3), i2=f(4, 3, 5), i3=f(2, 5), expand1=[1, 3], expand2=[0], expand3=[1, 2], sumdim=[2, 3])
    call("_trilinear.default", i1=f(2, 3), i2=f(2, 3), i3=f(2, 3), expand1=[], expand2=[], expand3=[], sumdim=[1])
    call("bilinear.default", input1=f(2, 2, 3), input2=f(2, 2, 5), weight=f(4, 3, 5), bias=f(4))
    call("bilinear.default", input1=f(2, 3), input2=f(2, 5), weight=f(4, 3, 5))


def bags() -> None:
    weight, indices = distinct(6, 3), torch.tensor([5, 0, 3, 3, 2, 1, 0])
    for mode in (0, 1, 2):
        for offsets, last in (([0, 2, 2, 5], False), ([0, 3, 7], True)):
            call("_embedding_bag.default", keep=3 if mode else 1, weight=weight, indices=indices, offsets=torch.tensor(offsets), mode=mode, include_last_offset=last)
        call("_embedding_bag.default", keep=3 if mode else 1, weight=weight, indices=indices, offsets=torch.tensor([0, 3]), mode=mode, padding_idx=3)
        call("embedding_bag.default", keep=[1, 3, 4][mode], weight=weight, indices=indices, offsets=torch.tensor([0, 3]), mode=mode)
        call("_embedding_bag_forward_only.default", keep=3 if mode else 1, weight=weight, indices=indices, offsets=torch.tensor([0, 3]), mode=mode)
    call("_embedding_bag.default", keep=1, weight=weight, indices=indices, offsets=torch.tensor([0, 3]), per_sample_weights=f(7))
    for padding in (None, 0, -1):
        call("embedding_bag.padding_idx", keep=1, weight=weight, indices=indices, offsets=torch.tensor([0, 3]), scale_grad_by_freq=False, mode=0, sparse=False, per_sample_weights=None, include_last_offset=False, padding_idx=padding)
    for p in (2.0, 1.0, INF):
        renormed = torch.ops.aten.embedding_renorm_(weight.clone(), indices[:4], 2.5, p)
        calls.append(["aten::embedding_renorm.default", {"self": encode(weight), "indices": encode(indices[:4]), "max_norm": 2.5, "norm_type": encode(p)}, [encode(renormed)]])


def copies() -> None:
    x = f(3, 1, 4)
    call("view_copy.default", self_=x, size=[2, 6])
    call("permute_copy.default", self_=x, dims=[2, 0, 1])
    call("as_strided_copy.default", self_=x, size=[2, 3], stride=[1, 2], storage_offset=1)
    call("unsqueeze_copy.default", self_=x, dim=-1)
    call("squeeze_copy.dims", self_=x, dim=[0, 1])
    call("diagonal_copy.default", self_=x, offset=1, dim1=0, dim2=2)
    call("split_with_sizes_copy.default", self_=x, split_sizes=[1, 3], dim=2)
    call("unfold_copy.default", self_=x, dimension=2, size=2, step=1)
    call("slice_copy.Tensor", self_=x, dim=2, start=1, end=4, step=2)
    call("select_copy.int", self_=x, dim=2, index=-1)
    call("transpose_copy.int", self_=x, dim0=0, dim1=-1)
    call("narrow_copy.default", self_=x, dim=2, start=1, length=2)
    call("unbind_copy.int", self_=x, dim=2)
    call("expand_copy.default", self_=x, size=[2, 3, 5, 4])
    call("diagonal_scatter.default", self_=x, src=f(1, 3), offset=0, dim1=0, dim2=2)
    call("diagonal_scatter.default", self_=f(4, 3), src=f(2), offset=-2)
    call("as_strided_scatter.default", self_=x, src=f(2, 3), size=[2, 3], stride=[6, 2], storage_offset=1)
    calls.append(["aten::new_empty_strided.default", {"self": encode(x), "size": [0, 2], "stride": [2, 1]}, [encode(f(0, 2))]])
    call("native_channel_shuffle.default", self_=f(1, 6, 2, 1), groups=3)
    calls.append(["aten::resize.default", {"self": encode(x), "size": [5]}, [encode(x.reshape(-1)[:5])]])
    calls.append(["aten::resize_as.default", {"self": encode(x), "the_template": encode(f(2, 2))}, [encode(x.reshape(-1)[:4].reshape(2, 2))]])


def convolutions() -> None:
    """Every argument of aten::convolution; dyadic data, so that sums are exact."""
    call("convolution.default", input=torch.arange(4).double().reshape(1, 2, 2), weight=torch.tensor([1.0, 10.0]).double().reshape(2, 1, 1), bias=None, stride=[1], padding=[0], dilation=[1], transposed=False, output_padding=[0], groups=2)
    call("convolution.default", input=torch.arange(5).double().reshape(1, 1, 5), weight=torch.tensor([[[1.0, -1.0]]]).double(), bias=None, stride=[1], padding=[1], dilation=[3], transposed=False, output_padding=[0], groups=1)
    for n, groups, stride, padding, dilation in itertools.product((1, 2, 3), (1, 2), (1, 2), (0, 1), (1, 2)):
        size, kernel = [6, 5, 4][:n], [2, 3, 1][:n]
        if n == 3:
            size, kernel = [4, 3, 5], [2, 1, 3]
        if n == 3 and stride != dilation:
            continue
        bias = f(4) if padding else None
        how = {"stride": [stride] * n, "padding": [padding] * n, "dilation": [dilation] * n, "groups": groups}
        call("convolution.default", input=f(1, 2 if n > 1 else 4, *size), weight=f(4, (2 if n > 1 else 4) // groups, *kernel), bias=bias, transposed=False, output_padding=[0] * n, **how)
        call("convolution.default", input=f(1, 2, *size[:n]), weight=f(2, 4 // groups, *kernel), bias=bias, transposed=True, output_padding=[max(stride, dilation) - 1] + [0] * (n - 1), **how)
    call("conv3d.padding", input=f(1, 2, 3, 3, 4), weight=f(2, 2, 2, 3, 2), padding="same", dilation=[1, 1, 2])
    call("conv_transpose3d.input", input=f(1, 2, 2, 3, 2), weight=f(2, 2, 2, 2, 2), stride=[2, 1, 1], padding=[0, 1, 0], output_padding=[1, 0, 0])


def main() -> None:
    for family in (resampling, grids, pads, pools, distances, bags, copies, convolutions):
        family()
    write()


if __name__ == "__main__":
    main()
