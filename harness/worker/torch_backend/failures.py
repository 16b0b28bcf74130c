"""What an exception of PyTorch means, in the words of the protocol."""

from __future__ import annotations

import re
from dataclasses import dataclass

import torch

from .errors import CompileError, InvalidRequest, MissingOutput, Unsupported

MAX_MESSAGE = 2000


@dataclass(frozen=True)
class Failure:
    status: str
    reason: str
    detail: str


def message_of(error: BaseException) -> str:
    """One short text without addresses or directories: records must be equal from run to run."""
    text = str(error).strip() or type(error).__name__
    # PyTorch appends its C++ stack, and Dynamo its advice for debugging.
    text = re.split(r"\nException raised from |\n\nSet TORCHDYNAMO_VERBOSE|\n\s*Hint: ", text)[0]
    text = re.sub(r"(?<![\w.:/])(?:/[^\s/:\"']+)+/", "", text)
    text = re.sub(r"\b0x[0-9a-fA-F]{6,}\b", "0x...", text)
    return text if len(text) <= MAX_MESSAGE else text[:MAX_MESSAGE] + " ..."


def is_out_of_memory(error: BaseException) -> bool:
    if isinstance(error, (MemoryError, torch.OutOfMemoryError)):
        return True
    return isinstance(error, RuntimeError) and bool(
        re.search(r"can't allocate memory|not enough memory|out of memory", str(error))
    )


# What follows "not implemented for" in PyTorch's messages, by the documented reason.
_DTYPE_REASONS = {"ComplexHalf": "complex", "ComplexFloat": "complex", "ComplexDouble": "complex", "Double": "float64"}
_NOT_FOR_DTYPE = re.compile(r"not implemented for '(\w+)'")
_REFUSALS = (
    (re.compile(r"doesn't support float64|does not support float64"), "float64"),
    (re.compile(r"(?:not|n't) support(?:ed)? (?:for )?complex|[Cc]omplex \w+ (?:is|are) not supported"), "complex"),
    (re.compile(r"not (?:currently )?implemented for the \w+ device|Could not run '"), "operator"),
    (re.compile(r"half to float conversion is not supported on CPU"), "dtype"),
    # PyTorch's answer to x / 0 on integers, whose result nobody defines.
    (re.compile(r"^ZeroDivisionError$"), "argument"),
    (re.compile(r"on a bool tensor is not supported|with (?:two )?bool tensors? is not supported"), "dtype"),
)


def as_unsupported(error: BaseException) -> Unsupported | None:
    """PyTorch's ways to say that there is no kernel; None if the error is something else."""
    if isinstance(error, Unsupported):
        return error
    if is_out_of_memory(error) or not isinstance(error, (NotImplementedError, RuntimeError, TypeError)):
        return None
    text = str(error)
    if match := _NOT_FOR_DTYPE.search(text):
        return Unsupported(_DTYPE_REASONS.get(match[1], "dtype"), message_of(error))
    for pattern, reason in _REFUSALS:
        if pattern.search(text):
            return Unsupported(reason, message_of(error))
    return Unsupported("operator", message_of(error)) if isinstance(error, NotImplementedError) else None


def classify(error: Exception, negative: bool) -> Failure:
    """The status of a run that ended with `error`. A negative case is right to end so."""
    detail = message_of(error)
    if is_out_of_memory(error):
        return Failure("out_of_memory", "device_memory", detail)
    if isinstance(error, MissingOutput):
        return Failure("meta_mismatch", "missing_output", detail)
    if "INTERNAL ASSERT FAILED" in str(error):
        return Failure("crash", "device_trap", detail)  # not even for bad input
    if negative:
        return Failure("rejected_bad_input", "refused", detail)
    if isinstance(error, CompileError):
        return Failure("compile_error", error.reason, detail)
    if unsupported := as_unsupported(error):
        return Failure("unsupported", unsupported.reason, detail)
    return Failure("crash", "device_trap", detail)


def wire_error(error: Exception) -> dict[str, str]:
    """The `error` answer for a request that could not be served."""
    if isinstance(error, InvalidRequest):
        code, reason = "invalid_argument", ""
    elif is_out_of_memory(error):
        code, reason = "out_of_memory", "device_memory"
    elif isinstance(error, CompileError):
        code, reason = "compile_error", error.reason
    elif unsupported := as_unsupported(error):
        code, reason = "unsupported", unsupported.reason
    else:
        code, reason = "execution_error", "device_trap"
    return {"type": "error", "code": code, "reason": reason, "message": message_of(error)}
