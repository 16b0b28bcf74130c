"""Answers requests one by one; the worker's state is a device and the sessions of `load`."""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Callable
from typing import Any

import torch

from .case_run import CaseRun
from .compiled import CompileRun
from .device import Device, DeviceMissing
from .eager import EagerRun
from .errors import InvalidRequest, Unsupported
from .failures import as_unsupported, wire_error
from .frames import Frame
from .graph import TENSOR, Graph, read_graph
from .operators import SCALAR_TYPES, Call
from .request import read_request

# `supports` tries an operator on zeros; larger ones are not worth the memory.
_MAX_TRIAL_BYTES = 256 << 20


class Service:
    def __init__(self, device_name: str, send: Callable[[Frame], None]):
        self.device_name = device_name
        self.send = send
        self.device: Device | None = None
        self.sessions: dict[int, CaseRun] = {}
        self.next_session = 1
        # Advice to people, and logs of what comes back as a failure anyway; here it would be noise.
        warnings.filterwarnings("ignore")
        logging.disable(logging.CRITICAL)

    def answer(self, frame: Frame) -> Frame:
        """Never raises for what a request or PyTorch does wrong."""
        try:
            return self._dispatch(frame)
        except DeviceMissing as error:
            return _error("device_missing", "device_missing", str(error))
        except Exception as error:
            return Frame(wire_error(error), [])

    def _dispatch(self, frame: Frame) -> Frame:
        kind = frame.header.get("type")
        if kind == "hello":
            return self._hello(frame.header)
        if self.device is None:
            raise InvalidRequest("the first request must be hello")
        handlers: dict[Any, Callable[[Frame], Frame]] = {
            "run": self._run,
            "supports": self._supports,
            "load": self._load,
            "measure": self._measure,
            "unload": self._unload,
        }
        if not isinstance(kind, str) or kind not in handlers:
            raise InvalidRequest(f"unknown request {kind!r}")
        return handlers[kind](frame)

    def _hello(self, header: dict[str, Any]) -> Frame:
        if header.get("protocol") != 1:
            raise InvalidRequest(f"protocol {header.get('protocol')!r}: this worker speaks protocol 1")
        options, cache_dir = header.get("options") or {}, header.get("cache_dir")
        if not isinstance(options, dict) or not all(isinstance(value, str) for value in options.values()):
            raise InvalidRequest("member 'options': expected a map of strings")
        if cache_dir is not None and not isinstance(cache_dir, str):
            raise InvalidRequest("member 'cache_dir': expected a string or nil")
        self.sessions.clear()
        target = header.get("target")
        self.device = Device(target if isinstance(target, str) and target else self.device_name, options, cache_dir)
        return Frame(self.device.hello(), [])

    def _start(self, frame: Frame) -> CaseRun:
        request = read_request(frame)
        kind = EagerRun if request.mode == "eager" else CompileRun
        return kind(self.device, request, self._progress)

    def _progress(self, phase: str, node: int) -> None:
        self.send(Frame({"type": "progress", "phase": phase, "node": node}, []))

    def _run(self, frame: Frame) -> Frame:
        return self._start(frame).run()

    # --- benchmarks

    def _load(self, frame: Frame) -> Frame:
        run = self._start(frame)
        with torch.no_grad():
            run.prepare()
            run.phases["first_run_s"] = run.timed_pass(True)
        session = self.next_session
        self.next_session += 1
        self.sessions[session] = run
        return Frame({"type": "loaded", "session": session, "phases": run.phases, "compiles": run.compiles}, [])

    def _session(self, frame: Frame) -> int:
        session = frame.header.get("session")
        if not isinstance(session, int) or session not in self.sessions:
            raise InvalidRequest(f"no such session: {session!r}")
        return session

    def _measure(self, frame: Frame) -> Frame:
        run = self.sessions[self._session(frame)]
        iterations = frame.header.get("iterations")
        if not isinstance(iterations, int) or iterations < 1:
            raise InvalidRequest(f"member 'iterations': {iterations!r} is no positive number")
        seconds, fallbacks = 0.0, 0
        with torch.no_grad():
            for _ in range(iterations):
                seconds += run.timed_pass(False)
                fallbacks += run.ledger.fallback_count()
        run.values = {}
        header = {
            "type": "measured",
            "seconds": seconds,
            "device_seconds": 0.0,  # of simulated devices
            "cycles": 0,
            "fallbacks": fallbacks,
        }
        return Frame(header, [])

    def _unload(self, frame: Frame) -> Frame:
        del self.sessions[self._session(frame)]
        return Frame({"type": "unloaded"}, [])

    # --- supports

    def _supports(self, frame: Frame) -> Frame:
        texts = frame.header.get("nodes")
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise InvalidRequest("member 'nodes': expected graphs as JSON")
        return Frame({"type": "supports", "nodes": [self._support(text) for text in texts]}, [])

    def _support(self, text: str) -> dict[str, Any]:
        graph = read_graph(text)
        if len(graph.nodes) != 1:
            raise InvalidRequest("supports takes graphs of one node")
        problem = self._problem(graph)
        return {
            "supported": problem is None,
            "native": 0 if problem else 1,
            "reason": problem.reason if problem else "",
            "message": str(problem) if problem else "",
        }

    def _problem(self, graph: Graph) -> Unsupported | None:
        """PyTorch has no table of kernels that would say which dtypes they take, so the node is tried on zeros."""
        node = graph.nodes[0]
        if node.op in self.device.denied:
            return Unsupported("policy", f"{node.op} is denied by --option deny")
        try:
            call = Call(node, self.device.torch_device)
            values = self._zeros(graph)
            if values is not None:
                with torch.no_grad():
                    call.run(*call.bind(values.__getitem__))
                    self.device.synchronize()
        except Exception as error:
            # Any other refusal is about the zeros (an index out of range), not about the operator.
            return as_unsupported(error)
        return None

    def _zeros(self, graph: Graph) -> dict[str, Any] | None:
        """Inputs as declared; None if they are too large, or their sizes depend on data."""
        values: dict[str, Any] = {}
        total = 0
        for value in graph.inputs:
            if value.kind != TENSOR:
                values[value.name] = {"int": 1, "float": 1.0, "bool": False}[value.kind]
                continue
            meta = graph.metas.get(value.name)
            if meta is None or None in meta.shape:
                return None
            if meta.dtype not in SCALAR_TYPES:
                raise Unsupported("dtype", f"dtype number {meta.dtype} is none of PyTorch's")
            dtype = SCALAR_TYPES[meta.dtype]
            total += math.prod(meta.shape) * dtype.itemsize
            if total > _MAX_TRIAL_BYTES:
                return None
            values[value.name] = torch.zeros(meta.shape, dtype=dtype, device=self.device.torch_device)
        return values


def _error(code: str, reason: str, message: str) -> Frame:
    return Frame({"type": "error", "code": code, "reason": reason, "message": message}, [])
