"""Eager mode: node by node, in two passes (docs/worker_protocol.md)."""

from __future__ import annotations

from typing import Any

import torch

from . import scalars
from .case_run import CaseRun, Step
from .frames import RawTensor
from .graph import TENSOR, node_references
from .tensors import same_bits, upload, view_raw


class _Chain:
    """The reference's values: numbers, and tensors on the device for as long as nodes read them."""

    def __init__(self, run: EagerRun):
        self.device = run.device.torch_device
        self.kinds = run.request.graph.kinds
        self.raw: dict[str, RawTensor] = {**run.request.inputs, **run.request.chain}
        self.computed: dict[str, Any] = {}
        self.tensors: dict[str, torch.Tensor] = {}

    def has(self, name: str) -> bool:
        return name in self.raw or name in self.computed

    def lookup(self, name: str) -> Any:
        if name in self.computed:
            return self.computed[name]
        if self.kinds[name] != TENSOR:
            return view_raw(self.raw[name]).item()
        if name not in self.tensors:
            self.tensors[name] = upload(self.raw[name], self.device)
        return self.tensors[name]

    def modified(self, names: list[str]) -> int:
        """Which of `names` is not as it was sent any more; -1 if all are."""
        for index, name in enumerate(names):
            if name in self.tensors and not same_bits(self.tensors[name].to("cpu"), view_raw(self.raw[name])):
                del self.tensors[name]  # the next reader gets a fresh one
                return index
        return -1


class EagerRun(CaseRun):
    def execute(self, first: bool) -> None:
        for step in self.steps:
            self.current = step.index
            if first:
                self.progress("free", step.index)
            if step.node.is_host_scalar:
                self.run_host_scalar(step)
            elif step.node.is_assertion:
                self.skip_assertion(step)
            else:
                self.run_tensor_node(step, first)
                if first and step.index in self.request.free_nodes:
                    # No node changes a tensor in place, so this stays what it is without a copy.
                    self.outcomes[step.index].free = self._tensor_outputs(step, self.values)
            self.release_after(step)

    @staticmethod
    def _tensor_outputs(step: Step, values: dict[str, Any]) -> list[torch.Tensor]:
        return [values[output.name] for output in step.node.outputs if output and output.kind == TENSOR]

    def finish(self, outputs: list[torch.Tensor | None], repeatable: bool | None) -> tuple[str, bool | None]:
        if not self.request.chain and self._needs_chain():
            return "", repeatable
        guard = self._local_pass()
        if len(self.steps) == 1 and repeatable:
            # Free and local pass had equal inputs.
            step = self.steps[0]
            produced = {output.name for output in step.node.outputs if output and output.kind == TENSOR}
            names = [output.name for output in step.node.outputs if output and output.kind == TENSOR]
            local = dict(zip(names, self.outcomes[0].local))
            for name, output in zip(self.request.outputs, outputs):
                if name in produced and name in local:
                    repeatable = repeatable and same_bits(local[name], output)
        return guard, repeatable

    def _needs_chain(self) -> bool:
        """A node that the device may run reads another's result: only the reference's values can feed it."""
        made = {output.name for step in self.steps for output in step.node.outputs if output}
        return any(
            not made.isdisjoint(node_references(step.node))
            for step in self.steps
            if not step.node.is_host_scalar and not step.node.is_assertion
        )

    def _local_pass(self) -> str:
        """Every node that the device runs, from the reference's values. Returns what was overwritten."""
        chain = _Chain(self)
        torch.manual_seed(self.request.seed)
        last_use: dict[str, int] = {}
        for step in self.steps:
            last_use.update({name: step.index for name in node_references(step.node)})
        guard = ""
        for step in self.steps:
            names = node_references(step.node)
            if step.node.is_host_scalar:
                self._local_scalar(step, chain)
            elif not step.node.is_assertion and step.index not in self.fallen_back and all(map(chain.has, names)):
                self.current = step.index
                self.progress("local", step.index)
                results = step.call.results(step.call.run(*step.call.bind(chain.lookup)))
                outputs = [value for output, value in zip(step.node.outputs, results) if output]
                self.outcomes[step.index].local = [value for value in outputs if isinstance(value, torch.Tensor)]
                self.device.synchronize()
                modified = chain.modified(names)
                if modified >= 0 and not guard:
                    guard = f"node '{step.node.name}' ({step.node.op}) modified its input {modified}"
            for name in names:
                if last_use[name] == step.index:
                    chain.tensors.pop(name, None)
        self.current = -1
        return guard

    @staticmethod
    def _local_scalar(step: Step, chain: _Chain) -> None:
        """Numbers of the chain where the reference sent them; else computed from it."""
        names = [output.name for output in step.node.outputs if output]
        if all(name in chain.raw for name in names) or not all(map(chain.has, node_references(step.node))):
            return
        result = scalars.evaluate(step.node, chain.lookup)
        chain.computed.update(dict.fromkeys(names, result))
