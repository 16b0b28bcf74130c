"""The worker's own exceptions. What PyTorch raises is read by failures.py."""

from __future__ import annotations


class Unsupported(Exception):
    """The device does not run this: an answer, not a defect."""

    def __init__(self, reason: str, message: str):
        super().__init__(message)
        self.reason = reason


class InvalidRequest(Exception):
    """The request contradicts itself or the protocol."""


class MissingOutput(Exception):
    """The device did not return an output that the graph declares, or returned something else than a tensor."""


class CompileError(Exception):
    """torch.compile did not compile."""

    def __init__(self, reason: str, message: str):
        super().__init__(message)
        self.reason = reason
