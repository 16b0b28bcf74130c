"""One case on one device: what eager and compile mode have in common."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from . import scalars
from .costs import Lookup, Size, flops, moved_bytes
from .device import Device
from .errors import InvalidRequest, Unsupported
from .failures import Failure, as_unsupported, classify
from .frames import Frame, RawTensor
from .graph import TENSOR, Node, node_references
from .ledger import Ledger
from .operators import Call
from .request import Request
from .tensors import UnknownDType, same_bits, to_raw, upload, view_raw

Progress = Callable[[str, int], None]


@dataclass
class Outcome:
    placement: str = "not_run"
    reason: str = ""
    local: list[torch.Tensor] = field(default_factory=list)
    free: list[torch.Tensor] = field(default_factory=list)


@dataclass
class Step:
    """A node with what is known before it runs."""

    index: int
    node: Node
    call: Call | None = None
    problem: Unsupported | None = None  # PyTorch has no such function
    releases: tuple[str, ...] = ()  # values that nobody reads after it


class CaseRun:
    """`values` holds tensors on the device and numbers of the host, by name."""

    def __init__(self, device: Device, request: Request, progress: Progress):
        self.device = device
        self.request = request
        self.progress = progress
        self.outcomes = [Outcome() for _ in request.graph.nodes]
        self.phases: dict[str, Any] = {
            "prepare_s": None,
            "compile_cold_s": None,
            "compile_disk_warm_s": None,
            "compile_memory_warm_s": None,
            "first_run_s": None,
            "steady_s": [],
        }
        self.compiles: dict[str, Any] = {"count": 0, "hits_memory": 0, "hits_disk": 0, "misses": []}
        self.steps: list[Step] = []
        self.inputs: dict[str, Any] = {}
        self.values: dict[str, Any] = {}
        self.ledger = Ledger()
        self.current = -1
        self.paused = 0.0  # seconds of the pass that are not the device's
        self.fallen_back: dict[int, Unsupported] = {}

    # --- before the first pass

    def prepare(self) -> None:
        started = self.device.now()
        self.progress("prepare", -1)
        self._plan()
        for value in self.request.graph.inputs:
            raw = self.request.inputs[value.name]
            self.inputs[value.name] = (
                upload(raw, self.device.torch_device) if value.kind == TENSOR else view_raw(raw).item()
            )
        self.phases["prepare_s"] = self.device.now() - started

    def _plan(self) -> None:
        graph = self.request.graph
        kept = {value.name for value in graph.inputs} | {name for name in self.request.outputs if name}
        last_use: dict[str, int] = {}
        for index, node in enumerate(graph.nodes):
            last_use.update({output.name: index for output in node.outputs if output})
            last_use.update({name: index for name in node_references(node)})
        dying: dict[int, list[str]] = {}
        for name, index in last_use.items():
            if name not in kept:
                dying.setdefault(index, []).append(name)
        for index, node in enumerate(graph.nodes):
            step = Step(index, node, releases=tuple(dying.get(index, ())))
            if not node.is_assertion and not node.is_host_scalar:
                try:
                    step.call = Call(node, self.device.torch_device)
                except Unsupported as problem:
                    step.problem = problem
            self.steps.append(step)

    # --- nodes

    def lookup(self, name: str) -> Any:
        if name not in self.values:
            raise InvalidRequest(f"value '{name}' is used but not defined before")
        return self.values[name]

    def place(self, step: Step, placement: str, reason: str = "") -> None:
        outcome = self.outcomes[step.index]
        outcome.placement, outcome.reason = placement, reason

    def run_host_scalar(self, step: Step) -> None:
        result = scalars.evaluate(step.node, self.lookup)
        self.values.update({output.name: result for output in step.node.outputs if output})
        self.place(step, "host_scalar")
        self.ledger.host_scalar += 1

    def skip_assertion(self, step: Step) -> None:
        """The exporter's checks of the original run: strides, dtypes, ranges."""
        self.place(step, "metadata")
        self.ledger.metadata += 1

    def known_problem(self, step: Step) -> Unsupported | None:
        """Why the device does not run the node, as far as that is known without trying."""
        if step.problem is not None:
            return step.problem
        if step.node.op in self.device.denied:
            return Unsupported("policy", f"{step.node.op} is denied by --option deny")
        return self.fallen_back.get(step.index)

    def run_tensor_node(self, step: Step, first: bool) -> None:
        problem = self.known_problem(step)
        if problem is None:
            try:
                results = step.call.results(step.call.run(*step.call.bind(self.lookup)))
            except Exception as error:
                problem = as_unsupported(error)
                if problem is None:
                    raise
        if problem is not None:
            results = self._run_on_host(step, problem)
            self.fallen_back[step.index] = problem
        for output, value in zip(step.node.outputs, results):
            if output is not None:
                self.values[output.name] = value
        if first:
            started = self.device.now()
            self.account(step, problem, self._size)
            self.paused += self.device.now() - started

    def _run_on_host(self, step: Step, problem: Unsupported) -> list[Any]:
        """PyTorch on the CPU, with copies there and back, as PyTorch's own CPU fallback does it."""
        if not self.request.fallback or step.call is None or (self.device.is_cpu and problem.reason != "policy"):
            raise problem
        host_call = Call(step.node, torch.device("cpu"))
        started = self.device.now()
        moved = 0

        def move(value: Any, to: torch.device) -> Any:
            nonlocal moved
            if isinstance(value, list):
                return [move(item, to) for item in value]
            if not isinstance(value, torch.Tensor) or value.device.type == to.type:
                return value
            moved += value.numel() * value.element_size()
            return value.to(to)

        cpu = host_call.bind(lambda name: move(self.lookup(name), torch.device("cpu")))
        try:
            results = host_call.results(host_call.run(*cpu))
        except Exception as error:
            if as_unsupported(error) is not None:
                raise problem from error  # the host cannot either: the device's reason is the one that counts
            raise
        results = [move(value, self.device.torch_device) for value in results]
        self.ledger.fallback(step.node.op, problem.reason, moved, self.device.now() - started)
        return results

    def account(self, step: Step, problem: Unsupported | None, lookup: Lookup) -> None:
        """Places the node and weighs it. `lookup` gives the sizes of its tensors, results included."""
        is_metadata = step.call is not None and step.call.is_metadata
        outputs = [size for output in step.node.outputs if output and (size := lookup(output.name)) is not None]
        cost = flops(step.node, lookup, outputs), moved_bytes(step.node, lookup, outputs)
        if problem is not None:
            self.place(step, "fallback", problem.reason)
            if not is_metadata:
                self.ledger.fallback_node(cost)
        elif is_metadata:
            self.place(step, "metadata")
            self.ledger.metadata += 1
        else:
            self.place(step, "device")
            self.ledger.device_node(cost)

    def _size(self, name: str) -> Size | None:
        value = self.values.get(name)
        return Size(tuple(value.shape), value.element_size()) if isinstance(value, torch.Tensor) else None

    def release_after(self, step: Step) -> None:
        for name in step.releases:
            self.values.pop(name, None)

    # --- passes

    def execute(self, first: bool) -> None:
        """All nodes in order, from `values`, which holds the inputs."""
        raise NotImplementedError

    def finish(self, outputs: list[torch.Tensor | None], repeatable: bool | None) -> tuple[str, bool | None]:
        """Work beyond the free pass: what was overwritten, and whether results repeat."""
        return "", repeatable

    def timed_pass(self, first: bool) -> float:
        self.ledger = Ledger()
        self.values = dict(self.inputs)
        self.paused = 0.0
        torch.manual_seed(self.request.seed)
        started = self.device.now()
        self.execute(first)
        seconds = self.device.now() - started - self.paused
        self.current = -1
        return max(seconds, 0.0)

    def _output(self, name: str | None) -> torch.Tensor | None:
        if name is None:
            return None
        value = self.lookup(name)
        if isinstance(value, torch.Tensor):
            return value
        dtype = {bool: torch.bool, int: torch.int64, float: torch.float64}[type(value)]
        return torch.tensor(value, dtype=dtype)

    def _modified_input(self) -> str:
        for value in self.request.graph.inputs:
            if value.kind != TENSOR:
                continue
            if not same_bits(self.inputs[value.name].to("cpu"), view_raw(self.request.inputs[value.name])):
                return f"the input '{value.name}' was modified"
        return ""

    def _is_comparable(self) -> bool:
        """Repetitions give equal bits unless the device says otherwise or memory is read uninitialised."""
        ops = (node.op for node in self.request.graph.nodes)
        return self.device.is_cpu and not any(op.startswith(("aten::empty", "aten::new_empty")) for op in ops)

    def run(self) -> Frame:
        """The answer `result`; never raises for what PyTorch does."""
        outputs: list[torch.Tensor | None] = [None] * len(self.request.outputs)
        failure: Failure | None = None
        guard, repeatable = "", None
        fallbacks: list[dict[str, Any]] = []
        residency: dict[str, Any] | None = None
        failed_node = ""
        try:
            with torch.no_grad():
                self.prepare()
                self.phases["first_run_s"] = self.timed_pass(True)
                fallbacks, residency = self.ledger.fallbacks(), self.ledger.residency()
                outputs = [self._output(name) for name in self.request.outputs]
                guard = self._modified_input()
                for _ in range(self.request.repeats):
                    self.progress("repeat", -1)
                    self.phases["steady_s"].append(self.timed_pass(False))
                    if self._is_comparable():
                        again = [self._output(name) for name in self.request.outputs]
                        equal = all(a is None or same_bits(a, b) for a, b in zip(outputs, again))
                        repeatable = equal and repeatable is not False
                overwritten, repeatable = self.finish(outputs, repeatable)
                guard = guard or overwritten
                return self._answer(None, "", outputs, repeatable, guard, fallbacks, residency)
        except UnknownDType as error:
            failure = Failure("meta_mismatch", "dtype_mismatch", f"an output has dtype {error}")
        except InvalidRequest:
            raise
        except Exception as error:
            failure = classify(error, self.request.negative)
        if not self.device.is_usable():
            raise SystemExit(f"torch_worker: the device is unusable after: {failure.detail}")
        if self.current >= 0:
            node = self.request.graph.nodes[self.current]
            failed_node = node.name
            failure = Failure(failure.status, failure.reason, f"node '{node.name}' ({node.op}): {failure.detail}")
        for outcome in self.outcomes:
            outcome.local, outcome.free = [], []
        return self._answer(failure, failed_node, [None] * len(outputs), None, "", fallbacks, residency)

    def _answer(
        self,
        failure: Failure | None,
        failed_node: str,
        outputs: list[torch.Tensor | None],
        repeatable: bool | None,
        guard: str,
        fallbacks: list[dict[str, Any]],
        residency: dict[str, Any] | None,
    ) -> Frame:
        tensors: list[RawTensor] = []
        nodes = []
        for outcome in self.outcomes:
            nodes.append(
                {
                    "placement": outcome.placement,
                    "reason": outcome.reason,
                    "local": len(outcome.local),
                    "free": len(outcome.free),
                }
            )
            tensors += [to_raw(tensor) for tensor in (*outcome.local, *outcome.free)]
        tensors += [to_raw(output) for output in outputs if output is not None]
        header = {
            "type": "result",
            "failure": failure.status if failure else None,
            "reason": failure.reason if failure else "",
            "detail": failure.detail if failure else "",
            "failed_node": failed_node,
            "nodes": nodes,
            "outputs": [output is not None for output in outputs],
            "repeatable": repeatable,
            "guard_violation": guard,
            "fallbacks": fallbacks,
            "residency": residency,
            "phases": self.phases,
            "compiles": self.compiles,
            "device": None,
        }
        return Frame(header, tensors)
