"""The device under test, with the options of `hello`."""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from typing import Any

import torch

from .errors import InvalidRequest
from .failures import message_of

_CACHED_SEGMENTS = 16


class DeviceMissing(Exception):
    """PyTorch knows the device, this machine does not have it."""


def _threads(options: dict[str, str], name: str, default: int) -> int:
    text = options.get(name, str(default))
    if not text.isdecimal() or not 1 <= int(text) <= 4096:
        raise InvalidRequest(f"--option {name}={text}: expected a number of threads, 1 to 4096")
    return int(text)


def _threads_of_process() -> int:
    """As PyTorch itself would have it: OMP_NUM_THREADS, which the harness sets for workers that run at once."""
    text = os.environ.get("OMP_NUM_THREADS", "")
    return int(text) if text.isdecimal() and 1 <= int(text) <= 4096 else len(os.sched_getaffinity(0))


class Device:
    """Options: `threads` and `compile_threads` (of the host; OMP_NUM_THREADS or all cores, and 1), `deny` (operators, joined by `+`,
    that are to be treated as not supported: shows how a model behaves without them)."""

    OPTIONS = ("threads", "compile_threads", "deny")

    def __init__(self, name: str, options: dict[str, str], cache_dir: str | None):
        if unknown := sorted(set(options) - set(self.OPTIONS)):
            raise InvalidRequest(f"--option {unknown[0]}: torch knows {', '.join(self.OPTIONS)}")
        try:
            self.torch_device = torch.device(name)
        except RuntimeError as error:
            raise InvalidRequest(f"'{name}' is no device of PyTorch: {message_of(error)}") from error
        if self.torch_device.type == "meta":
            raise InvalidRequest("the device 'meta' computes shapes only")
        self.name = name
        self.is_cpu = self.torch_device.type == "cpu"
        self.cache_dir = cache_dir
        self.denied = frozenset(filter(None, options.get("deny", "").split("+")))
        self.threads = _threads(options, "threads", _threads_of_process())
        self.compile_threads = _threads(options, "compile_threads", 1)
        # Compiled segments by what they were compiled from: a graph that comes again is warm in memory.
        self.segments: OrderedDict[Any, Any] = OrderedDict()
        torch.set_num_threads(self.threads)
        if self.is_cpu:
            # Sums into places of a table (index_put with accumulate, embedding's gradient) depend on the order of
            # threads otherwise. Operators without such a form stay as they are, and are seen by the judge.
            torch.use_deterministic_algorithms(True, warn_only=True)
            torch.utils.deterministic.fill_uninitialized_memory = False
        self._probe()

    def _probe(self) -> None:
        try:
            torch.zeros(2, device=self.torch_device).add(1).to("cpu")
        except Exception as error:  # each backend of PyTorch has its own type for "not there"
            raise DeviceMissing(f"PyTorch cannot use '{self.name}' here: {message_of(error)}") from error

    def is_usable(self) -> bool:
        """False after an error that broke the device's context: every later case would fail, too."""
        try:
            self.synchronize()
            self._probe()
        except Exception:
            return False
        return True

    def _module(self) -> Any:
        return getattr(torch, self.torch_device.type, None)

    def synchronize(self) -> None:
        if not self.is_cpu and hasattr(self._module(), "synchronize"):
            self._module().synchronize()

    def now(self) -> float:
        """Seconds, when the device has done all that it was given."""
        self.synchronize()
        return time.perf_counter()

    def remember(self, key: Any, segment: Any) -> None:
        self.segments[key] = segment
        while len(self.segments) > _CACHED_SEGMENTS:
            self.segments.popitem(last=False)

    def _memory_bytes(self) -> int:
        if self.is_cpu:
            return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        if hasattr(self._module(), "mem_get_info"):
            return self._module().mem_get_info(self.torch_device)[1]
        return 0

    def _sentence(self) -> str:
        if self.is_cpu:
            return f"PyTorch on the CPU ({torch.backends.cpu.get_cpu_capability()}), {self.threads} threads"
        if hasattr(self._module(), "get_device_name"):
            return f"PyTorch on {self._module().get_device_name(self.torch_device)}"
        return f"PyTorch on {self.name}"

    def hello(self) -> dict[str, Any]:
        return {
            "type": "hello",
            "protocol": 1,
            "name": "torch",
            "version": torch.__version__,
            "device": self._sentence(),
            "contract": "",
            "memory_bytes": self._memory_bytes(),
            "simulated": False,
            # With a fixed number of threads the CPU's kernels are; accelerators reorder atomic additions.
            "deterministic": self.is_cpu,
            "compile": True,
        }
