"""Compile mode: torch.compile on the largest runs of consecutive nodes that the device supports."""

from __future__ import annotations

import hashlib
import operator
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import torch

from . import scalars
from .case_run import CaseRun, Step
from .costs import Size
from .errors import CompileError, InvalidRequest, Unsupported
from .failures import is_out_of_memory, message_of
from .graph import TENSOR, Ref, node_references
from .operators import SCALAR_TYPES, Call


def _inductor_counters() -> dict[str, int]:
    """Hits and misses of PyTorch's caches on disk; the outer cache (autograd's) hides the inner one on a hit."""
    from torch._dynamo.utils import counters

    outer, inner = counters["aot_autograd"], counters["inductor"]
    return {
        "hits": outer["autograd_cache_hit"] + inner["fxgraph_cache_hit"],
        "misses": inner["fxgraph_cache_miss"],
        "bypasses": inner["fxgraph_cache_bypass"],
    }


class Segment:
    """A compiled run of nodes. torch.compile is lazy: the first call compiles, then enters what it compiled."""

    def __init__(self, module: torch.fx.GraphModule, fullgraph: bool):
        self.backend_calls = 0
        self.entered: float | None = None
        self.late_s = 0.0  # compiling after the first entry: Dynamo broke the graph
        self.on_entry: Callable[[], None] = lambda: None
        self.function = torch.compile(module, backend=self._backend, fullgraph=fullgraph, dynamic=False)

    def _backend(self, module: torch.fx.GraphModule, examples: list[Any]) -> Callable[..., Any]:
        from torch._inductor.compile_fx import compile_fx

        started = time.perf_counter()
        self.backend_calls += 1
        compiled = compile_fx(module, examples)
        if self.entered is not None:
            self.late_s += time.perf_counter() - started

        def enter(*args: Any) -> Any:
            if self.entered is None:
                self.entered = time.perf_counter()
                self.on_entry()
            return compiled(*args)

        return enter

    def first_call(self, args: list[Any], on_entry: Callable[[], None]) -> tuple[Any, float, float]:
        """Results, the seconds that it took to get to the compiled code, and those that were spent in it."""
        self.entered, self.late_s, self.on_entry = None, 0.0, on_entry
        started = time.perf_counter()
        results = self.function(*args)
        ended = time.perf_counter()
        entered = ended if self.entered is None else self.entered
        return results, entered - started + self.late_s, ended - entered - self.late_s


class _Part:
    """Consecutive nodes, and the values that cross their border."""

    def __init__(self, steps: list[Step]):
        self.steps = steps
        self.inputs: list[str] = []
        self.outputs: list[str] = []
        self.segment: Segment | None = None


class CompileRun(CaseRun):
    def prepare(self) -> None:
        started = time.perf_counter()
        from torch._inductor import compile_fx  # noqa: F401  takes seconds, once in a process

        super().prepare()
        self.static: dict[str, Any] = {}  # numbers known without data
        self.dynamic_nodes: set[int] = set()
        self._find_numbers()
        if not self.device.is_cpu and not self.request.negative:
            self._try_eagerly()
        missing = self._missing_operators()
        if missing and not self.request.fallback:
            raise Unsupported(missing[0][1].reason, "not supported by the device: " + self._list(missing))
        if self.request.fullgraph and (missing or self.dynamic_nodes):
            breaks = [self._list(missing)] if missing else []
            breaks += [f"{self.steps[i].node.op} (depends on data)" for i in sorted(self.dynamic_nodes)]
            raise CompileError("graph_break", "fullgraph, and the device does not compile: " + "; ".join(breaks))
        self.parts = self._partition()
        self.first_step_of = {part.steps[0].index: part for part in self.parts}
        self.compiled_nodes = {step.index for part in self.parts for step in part.steps}
        self.phases["prepare_s"] = self.device.now() - started

    def _find_numbers(self) -> None:
        """Host scalars, from inputs and declared shapes; and the nodes that have to wait for data."""
        graph = self.request.graph
        numbers = {name: value for name, value in self.inputs.items() if not isinstance(value, torch.Tensor)}
        self.static.update(numbers)

        def lookup(name: str) -> Any:
            if name in self.static:
                return self.static[name]
            if graph.kinds.get(name) == TENSOR and name in graph.metas:
                return graph.metas[name].shape
            raise scalars.DependsOnData

        for step in self.steps:
            if step.node.is_host_scalar:
                try:
                    result = scalars.evaluate(step.node, lookup)
                    self.static.update({output.name: result for output in step.node.outputs if output})
                except scalars.DependsOnData:
                    self.dynamic_nodes.add(step.index)
            elif not step.node.is_assertion:
                numbers_read = [name for name in node_references(step.node) if graph.kinds.get(name) != TENSOR]
                if any(name not in self.static for name in numbers_read):
                    self.dynamic_nodes.add(step.index)

    def _try_eagerly(self) -> None:
        """Finds out which nodes the device does not run: PyTorch answers only by trying."""
        torch.manual_seed(self.request.seed)
        self.values = dict(self.inputs)
        for step in self.steps:
            self.current = step.index
            if step.node.is_host_scalar:
                self.run_host_scalar(step)
            elif not step.node.is_assertion:
                self.run_tensor_node(step, False)
            self.release_after(step)
        self.current = -1

    def _missing_operators(self) -> list[tuple[Step, Unsupported]]:
        missing = []
        for step in self.steps:
            if step.node.is_assertion or step.node.is_host_scalar:
                continue
            if problem := self.known_problem(step):
                missing.append((step, problem))
        return missing

    @staticmethod
    def _list(missing: list[tuple[Step, Unsupported]]) -> str:
        """Each operator once, with PyTorch's message."""
        by_op = {step.node.op: problem for step, problem in missing}
        return "; ".join(f"{op} ({by_op[op]})" for op in sorted(by_op))

    # --- parts

    def _partition(self) -> list[_Part]:
        runs: list[list[Step]] = []
        is_open = False
        for step in self.steps:
            if step.node.is_assertion or (step.node.is_host_scalar and step.index not in self.dynamic_nodes):
                continue
            if step.node.is_host_scalar or step.index in self.dynamic_nodes or self.known_problem(step):
                is_open = False
                continue
            if not is_open:
                runs.append([])
            is_open = True
            runs[-1].append(step)
        parts = [_Part(run) for run in runs]
        for part in parts:
            self._find_border(part)
        return parts

    def _find_border(self, part: _Part) -> None:
        inside = {step.index for step in part.steps}
        defined = {output.name for step in part.steps for output in step.node.outputs if output}
        read = [name for step in part.steps for name in node_references(step.node)]
        part.inputs = [name for name in dict.fromkeys(read) if name not in defined and name not in self.static]
        outside = {name for name in self.request.outputs if name}
        for step in self.steps:
            if step.index not in inside:
                outside.update(node_references(step.node))
        part.outputs = [name for name in defined if name in outside]
        part.outputs.sort()

    def _module(self, part: _Part) -> torch.fx.GraphModule:
        graph = torch.fx.Graph()
        values: dict[str, Any] = {
            name: graph.placeholder(f"input_{index}") for index, name in enumerate(part.inputs)
        }

        def lookup(name: str) -> Any:
            if name in values:
                return values[name]
            if name in self.static:
                return self.static[name]
            raise InvalidRequest(f"value '{name}' is used but not defined before")

        for step in part.steps:
            self._add_node(graph, step.call, lookup, values)
        graph.output(tuple(values[name] for name in part.outputs))
        return torch.fx.GraphModule(torch.nn.Module(), graph)

    @staticmethod
    def _add_node(graph: torch.fx.Graph, call: Call, lookup: Callable[[str], Any], values: dict[str, Any]) -> None:
        def pack(value: Any) -> Any:
            options = {"memory_format": torch.contiguous_format}
            return graph.call_function(torch.ops.aten.clone.default, (value,), options)

        def argument(name: str, value: Any) -> Any:
            if isinstance(value, list):
                return [argument(name, item) for item in value]
            if not isinstance(value, Ref):
                return value
            found = lookup(value.name)
            return pack(found) if name in call.written and isinstance(found, torch.fx.Node) else found

        args = [argument(name, value) for name, value in call.args]
        if call.reads_storage and args:
            args[0] = pack(args[0])
        kwargs = {name: argument(name, value) for name, value in call.kwargs.items()}
        result = graph.call_function(call.function, tuple(args), kwargs)
        for output, path in call.output_paths():
            item = result
            for index in path:
                item = graph.call_function(operator.getitem, (item, index))
            values[output.name] = item

    # --- execution

    def execute(self, first: bool) -> None:
        for step in self.steps:
            if step.index in self.first_step_of:
                self._run_part(self.first_step_of[step.index], first)
            if step.node.is_host_scalar:
                self._host_scalar(step)
            elif step.node.is_assertion:
                self.skip_assertion(step)
            elif step.index not in self.compiled_nodes:
                self.current = step.index
                if first:
                    self.progress("free", step.index)
                self.run_tensor_node(step, first)
        self.current = -1

    def _host_scalar(self, step: Step) -> None:
        if step.index in self.dynamic_nodes:
            self.run_host_scalar(step)
            return
        self.values.update({output.name: self.static[output.name] for output in step.node.outputs if output})
        self.place(step, "host_scalar")
        self.ledger.host_scalar += 1

    def _run_part(self, part: _Part, first: bool) -> None:
        self.current = part.steps[0].index
        args = [self.lookup(name) for name in part.inputs]
        if part.segment is None:
            results = self._compile_and_run(part, args)
        else:
            results = part.segment.function(*args)
        self.values.update(zip(part.outputs, results))
        if first:
            started = self.device.now()
            for step in part.steps:
                self.account(step, None, self._declared_size)
            self.paused += self.device.now() - started

    def _compile_and_run(self, part: _Part, args: list[Any]) -> Any:
        index = part.steps[0].index
        text = f"{self.request.fullgraph} {part.outputs} {sorted(self.static.items())} {self.request.graph_text}"
        key = (hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest(), index, len(part.steps))
        known = self.device.segments.get(key)
        started = time.perf_counter()
        self.progress("compile", index)
        try:
            with self._caches() if known is None else nullcontext():
                before = _inductor_counters()
                segment = known or Segment(self._module(part), self.request.fullgraph)
                calls_before = segment.backend_calls
                results, compile_s, run_s = segment.first_call(args, lambda: self.progress("free", index))
        except Exception as error:
            raise self._compile_error(error) from error
        self._count(known is not None, segment.backend_calls - calls_before, before, compile_s)
        part.segment = segment
        self.device.remember(key, segment)
        self.paused += time.perf_counter() - started - run_s
        return results

    @contextmanager
    def _caches(self) -> Iterator[None]:
        """PyTorch's caches in the given directory; without one, in a directory that lives while this compiles."""
        import torch._inductor.config as config
        from torch._inductor.utils import fresh_cache

        config.compile_threads = self.device.compile_threads
        if self.device.cache_dir is not None:
            os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(self.device.cache_dir, "torch")
            os.environ["TRITON_CACHE_DIR"] = os.path.join(self.device.cache_dir, "triton")
            yield
            return
        # fresh_cache keeps its directory after an error.
        with tempfile.TemporaryDirectory(prefix="assay-torch-", ignore_cleanup_errors=True) as folder:
            with fresh_cache(dir=folder):
                yield

    def _count(self, known: bool, backend_calls: int, before: dict[str, int], seconds: float) -> None:
        after = _inductor_counters()
        gained = {name: after[name] - before[name] for name in after}
        if known and backend_calls == 0:
            phase = "compile_memory_warm_s"
            self.compiles["hits_memory"] += 1
        elif gained["hits"] > 0 and gained["misses"] + gained["bypasses"] == 0:
            phase = "compile_disk_warm_s"
            self.compiles["hits_disk"] += 1
        else:
            phase = "compile_cold_s"
            self.compiles["count"] += backend_calls
            if self.device.cache_dir is not None and backend_calls:
                why = "PyTorch does not cache it" if gained["bypasses"] else "not in PyTorch's cache"
                self.compiles["misses"].append(why)
        self.phases[phase] = (self.phases[phase] or 0.0) + seconds

    def _compile_error(self, error: Exception) -> Exception:
        """Only what Dynamo and its backend raise; errors of the running program keep their own meaning."""
        from torch._dynamo import exc

        if is_out_of_memory(error) or not isinstance(error, exc.TorchDynamoException):
            return error
        reason = "graph_break" if isinstance(error, exc.Unsupported) else "compiler_error"
        return CompileError(reason, message_of(error))

    def _declared_size(self, name: str) -> Size | None:
        """As declared: inside compiled code there are no tensors to ask."""
        meta = self.request.graph.metas.get(name)
        if meta is None or None in meta.shape or meta.dtype not in SCALAR_TYPES:
            return None
        return Size(meta.shape, SCALAR_TYPES[meta.dtype].itemsize)
