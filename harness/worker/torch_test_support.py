"""For the PyTorch worker's tests: a worker as a subprocess, and small graphs as export JSON."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))

from torch_backend.frames import Frame, RawTensor, read_frame, write_frame  # noqa: E402

SCALAR_TYPE_CODES = {"u8": 1, "i8": 2, "i16": 3, "i32": 4, "i64": 5, "f16": 6, "f32": 7, "f64": 8, "c64": 10}
SCALAR_TYPE_CODES |= {"c128": 11, "bool": 12, "bf16": 13, "f8_e4m3fn": 29, "f8_e5m2": 30, "f8_e4m3": 1009}


def high_pipe() -> tuple[int, int]:
    """A pipe whose ends cannot be mistaken for the descriptors 3 and 4 of the child."""
    ends = os.pipe()
    high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 20) for end in ends]
    for end in ends:
        os.close(end)
    return high[0], high[1]


class Worker:
    """A worker process; the last frames of type `progress` are in `progress`."""

    def __init__(self, device: str = "cpu", environment: dict[str, str] | None = None):
        requests, self.requests = high_pipe()
        self.replies, replies = high_pipe()
        noise, noise_write = high_pipe()
        self.noise = noise
        actions = [
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, noise_write, 1),
            (os.POSIX_SPAWN_DUP2, noise_write, 2),
            (os.POSIX_SPAWN_DUP2, requests, 3),
            (os.POSIX_SPAWN_DUP2, replies, 4),
        ]
        argv = [sys.executable, str(HERE / "torch_worker.py"), device]
        self.pid = os.posix_spawn(sys.executable, argv, {**os.environ, **(environment or {})}, file_actions=actions)
        for end in (requests, replies, noise_write):
            os.close(end)
        self.progress: list[tuple[str, int]] = []
        self.status: int | None = None

    def ask(self, header: dict[str, Any], tensors: Iterable[RawTensor] = ()) -> Frame:
        self.progress = []
        write_frame(self.requests, Frame(header, list(tensors)))
        while (frame := read_frame(self.replies)) is not None:
            if frame.header["type"] != "progress":
                return frame
            self.progress.append((frame.header["phase"], frame.header["node"]))
        raise EOFError("the worker went away")

    def hello(self, **members: Any) -> dict[str, Any]:
        request = {"type": "hello", "protocol": 1, "target": "", "options": {}, "cache_dir": None, "seed": 0}
        return self.ask({**request, **members}).header

    def send_bytes(self, data: bytes) -> None:
        os.write(self.requests, data)

    def end(self) -> tuple[int, str]:
        """Closes the requests; exit status and what the worker printed."""
        if self.status is None:
            os.close(self.requests)
            _, status = os.waitpid(self.pid, 0)
            self.status = os.waitstatus_to_exitcode(status)
            with open(self.noise, errors="replace") as noise:
                self.text = noise.read()
            os.close(self.replies)
        return self.status, self.text

    def kill(self) -> None:
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            self.end()


def argument(value: Any) -> dict[str, Any]:
    """The Argument union for a plain Python value; a string is the name of a tensor, a dict is a union already."""
    if value is None:
        return {"as_none": True}
    if isinstance(value, dict):
        return value
    if isinstance(value, bool):
        return {"as_bool": value}
    if isinstance(value, int):
        return {"as_int": value}
    if isinstance(value, float):
        return {"as_float": value}
    if isinstance(value, str):
        return {"as_tensor": {"name": value}}
    if all(isinstance(item, int) for item in value):
        return {"as_ints": list(value)}
    return {"as_tensors": [{"name": item} for item in value]}


def node(target: str, inputs: dict[str, Any], *outputs: str | list[str] | dict[str, Any]) -> dict[str, Any]:
    """A node. An output is a tensor's name, a list of them, or a union."""
    return {
        "target": target,
        "inputs": [{"name": name, "arg": argument(value), "kind": 1} for name, value in inputs.items()],
        "outputs": [argument(output) for output in outputs],
        "metadata": {},
        "name": str(outputs[0]) if outputs and isinstance(outputs[0], str) else f"node_{target}",
    }


def meta(dtype: str, shape: Iterable[int]) -> dict[str, Any]:
    return {"dtype": SCALAR_TYPE_CODES[dtype], "sizes": [{"as_int": size} for size in shape]}


Declared = dict[str, tuple[str, tuple[int, ...]]]  # name -> dtype and shape


def graph_json(
    inputs: Declared, nodes: list[dict[str, Any]], outputs: list[str], results: Declared | None = None
) -> str:
    """What nodes define may stay undeclared: only the ledger of compile mode asks for it."""
    values = {name: meta(*declared) for name, declared in {**inputs, **(results or {})}.items()}
    graph = {
        "inputs": [argument(name) for name in inputs],
        "outputs": [argument(name) for name in outputs],
        "nodes": nodes,
        "tensor_values": values,
        "sym_int_values": {},
        "sym_bool_values": {},
    }
    signature = {
        "input_specs": [{"user_input": {"arg": argument(name)}} for name in inputs],
        "output_specs": [{"user_output": {"arg": argument(name)}} for name in outputs],
    }
    return json.dumps({"graph_module": {"graph": graph, "signature": signature}, "schema_version": {"major": 8}})


def run_header(graph: str, inputs: Iterable[str], outputs: Iterable[str | None], **members: Any) -> dict[str, Any]:
    header = {
        "type": "run",
        "case_id": "test",
        "mode": "eager",
        "graph": graph,
        "inputs": list(inputs),
        "chain": [],
        "outputs": list(outputs),
        "free_nodes": [],
        "repeats": 0,
        "fallback": True,
        "fullgraph": False,
        "negative": False,
        "seed": 0,
        "mutant": "",
    }
    return {**header, **members}
