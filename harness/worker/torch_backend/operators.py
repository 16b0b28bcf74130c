"""A node as a call of PyTorch: which function, which arguments, on which device.

Graphs hold logically contiguous tensors, so `view` is a reshape, and an
operator that refuses a layout which an earlier node chose gets packed copies.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import torch

from . import own_operators  # noqa: F401  registers them
from .errors import MissingOutput, Unsupported
from .failures import is_out_of_memory
from .graph import TENSOR, Keyword, Node, Ref, Value

SCALAR_TYPES = {
    1: torch.uint8,
    2: torch.int8,
    3: torch.int16,
    4: torch.int32,
    5: torch.int64,
    6: torch.float16,
    7: torch.float32,
    8: torch.float64,
    10: torch.complex64,
    11: torch.complex128,
    12: torch.bool,
    13: torch.bfloat16,
    29: torch.float8_e4m3fn,
    30: torch.float8_e5m2,
}
_STRIDED = 7
_MEMORY_FORMATS = {
    1: torch.contiguous_format,
    2: torch.channels_last,
    3: torch.channels_last_3d,
    4: torch.preserve_format,
}

# A view of an old layout is a reshape; the strides that _reshape_alias adds are those of its result.
_RESHAPES = {"aten::view.default", "aten::_unsafe_view.default", "aten::_reshape_alias.default"}
# They read the memory under a tensor, and by the graph's meaning that is packed.
_READS_STORAGE = {
    "aten::as_strided.default",
    "aten::as_strided_copy.default",
    "aten::as_strided_scatter.default",
    "aten::view.dtype",
    "aten::view_as_complex.default",
}
_COLLECTIVES = "_c10d_functional"


def resolve(op: str) -> Callable[..., Any]:
    """PyTorch's function. Raises Unsupported for operators that this PyTorch does not have."""
    if op == "_operator::getitem":
        return operator.getitem
    if op in _RESHAPES:
        return torch.ops.aten.reshape.default
    space, _, rest = op.partition("::")
    name, _, overload = rest.partition(".")
    if space == _COLLECTIVES:
        raise Unsupported("operator", f"{op}: collectives need ranks, and this worker is one process (torch:gloo)")
    if space in ("", "_operator", "math", "torch") or not name.isidentifier() or not overload.isidentifier():
        raise Unsupported("operator", f"PyTorch has no operator {op}")
    try:
        return getattr(getattr(getattr(torch.ops, space), name), overload)
    except (AttributeError, RuntimeError) as error:
        raise Unsupported("operator", f"PyTorch {torch.__version__} has no operator {op}") from error


def _constant(value: Any, device: torch.device) -> Any:
    """Serialised dtypes, layouts, formats and devices as PyTorch's; the device is always the one under test."""
    if isinstance(value, list):
        return [_constant(item, device) for item in value]
    if not isinstance(value, Keyword):
        return value
    if value.kind == "device":
        return device
    if value.kind == "scalar_type":
        if value.code not in SCALAR_TYPES:
            raise Unsupported("dtype", f"dtype number {value.code} is not one that PyTorch and the protocol share")
        return SCALAR_TYPES[value.code]
    if value.kind == "layout":
        if value.code != _STRIDED:
            raise Unsupported("argument", f"layout number {value.code}: only strided tensors are supported")
        return torch.strided
    return _MEMORY_FORMATS.get(value.code, torch.preserve_format)


class Call:
    """A node bound to its function. Raises Unsupported where PyTorch has no such function or constant."""

    def __init__(self, node: Node, device: torch.device):
        self.node = node
        self.function = resolve(node.op)
        self.schema = schema = getattr(self.function, "_schema", None)
        # Written arguments get a copy: values of a graph never change.
        self.written = {
            argument.name
            for argument in (schema.arguments if schema else ())
            if argument.alias_info is not None and argument.alias_info.is_write
        }
        self.args: list[tuple[str, Any]] = []
        self.kwargs: dict[str, Any] = {}
        given = dict(node.arguments)
        if schema is None:
            self.args = [(name, _constant(value, device)) for name, value in node.arguments]
            return
        if node.op in _RESHAPES:
            given = {"shape" if name == "size" else name: value for name, value in given.items() if name != "stride"}
        if given.get("pin_memory"):
            given["pin_memory"] = False  # it concerns the host's copy, not the result
        factory_needs_device = False
        gap = False
        for argument in schema.arguments:
            factory_needs_device |= argument.name == "device"
            if argument.name not in given:
                gap = True
                continue
            value = _constant(given.pop(argument.name), device)
            if gap or argument.kwarg_only:
                self.kwargs[argument.name] = value
            else:
                self.args.append((argument.name, value))
        if factory_needs_device and self.kwargs.get("device") is None:
            if not any(isinstance(value, Ref) for _, value in self.args):
                self.kwargs["device"] = device  # a factory: its default would be the CPU
        # Names that the schema does not have: PyTorch's own message is the answer.
        self.kwargs.update({name: _constant(value, device) for name, value in given.items()})

    def bind(self, lookup: Callable[[str], Any]) -> tuple[list[Any], dict[str, Any]]:
        """Arguments with values in place of references."""
        args = [self._value(name, value, lookup) for name, value in self.args]
        kwargs = {name: self._value(name, value, lookup) for name, value in self.kwargs.items()}
        return args, kwargs

    def _value(self, name: str, value: Any, lookup: Callable[[str], Any]) -> Any:
        if isinstance(value, Ref):
            found = lookup(value.name)
            return found.clone() if name in self.written and isinstance(found, torch.Tensor) else found
        if isinstance(value, list):
            return [self._value(name, item, lookup) for item in value]
        return value

    def output_paths(self) -> list[tuple[Value, tuple[int, ...]]]:
        """Where in the result each output is: the indices to take one after the other."""
        returns = self.schema.returns if self.schema else [None]
        paths: list[tuple[int, ...]] = []
        for place, item in enumerate(returns):
            prefix = (place,) if len(returns) > 1 else ()
            if item is not None and isinstance(item.type, torch.ListType):
                # A list takes what the other results leave.
                length = len(self.node.outputs) - len(returns) + 1
                paths += [(*prefix, index) for index in range(length)]
            else:
                paths.append(prefix)
        return [(output, path) for output, path in zip(self.node.outputs, paths) if output is not None]

    @property
    def is_metadata(self) -> bool:
        """PyTorch returns a view or takes a list apart, as the schema says: no bytes are moved."""
        if self.schema is None:
            return True
        if self.node.op.startswith("aten::to."):
            return False  # self only if it is what was asked for
        aliases = [item.alias_info for item in self.schema.returns]
        return bool(aliases) and all(alias is not None and not alias.is_write for alias in aliases)

    @property
    def reads_storage(self) -> bool:
        return self.node.op in _READS_STORAGE

    def run(self, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if self.reads_storage and args and isinstance(args[0], torch.Tensor):
            args[0] = _packed(args[0])
        try:
            return self.function(*args, **kwargs)
        except RuntimeError as error:
            if isinstance(error, NotImplementedError) or is_out_of_memory(error):
                raise
            if not any(_is_strided(value) for value in _tensors((args, kwargs))):
                raise
        return self.function(*_map(_packed, args), **_map(_packed, kwargs))

    def results(self, result: Any) -> list[Any]:
        """One entry for each of the node's outputs. Raises MissingOutput."""
        flat = list(_flatten(result))
        outputs = self.node.outputs
        if len(flat) < len(outputs):
            raise MissingOutput(f"{len(flat)} of {len(outputs)} outputs were returned")
        for index, (output, value) in enumerate(zip(outputs, flat)):
            if output is not None and output.kind == TENSOR and not isinstance(value, torch.Tensor):
                raise MissingOutput(f"output {index} is {type(value).__name__}, not a tensor")
        return flat[: len(outputs)]


def _flatten(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _flatten(item)
    else:
        yield value


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    values = _flatten(list(value[0]) + list(value[1].values()))
    return (item for item in values if isinstance(item, torch.Tensor))


def _map(function: Callable[[Any], Any], value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _map(function, item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_map(function, item) for item in value]
    return function(value)


def _is_strided(tensor: torch.Tensor) -> bool:
    return not tensor.is_contiguous()


def _packed(value: Any) -> Any:
    """A tensor that is alone in its memory, row-major; anything else unchanged."""
    if not isinstance(value, torch.Tensor):
        return value
    own = value.is_contiguous() and value.storage_offset() == 0
    whole = own and value.untyped_storage().nbytes() == value.numel() * value.element_size()
    return value if whole else value.clone(memory_format=torch.contiguous_format)
