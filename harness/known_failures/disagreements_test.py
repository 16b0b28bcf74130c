#!/usr/bin/env python3
"""docs/disagreements.md and torch_cpu.json: they name the same disagreements, and each is still there. The same of
docs/distributed.md and torch_gloo.json, whose faults are cases of the suite `distributed`.

The documents are compared with Python alone. What PyTorch gives is tried if this Python has a PyTorch of the version
that the waivers are for; else the test ends with 77, which ctest counts as skipped.
"""

from __future__ import annotations

import doctest
import fnmatch
import json
import math
import pathlib
import re
import signal
import statistics
import struct
import subprocess
import sys
import unittest
from fractions import Fraction

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs/disagreements.md"
WAIVERS = pathlib.Path(__file__).with_name("torch_cpu.json")
SECTION = re.compile(r"^## (.+)$", re.MULTILINE)

try:
    import torch
except ImportError:
    torch = None


def sections() -> dict[str, str]:
    parts = SECTION.split(DOCUMENT.read_text(encoding="utf-8"))
    return dict(zip(parts[1::2], parts[2::2]))


def waivers() -> list[dict]:
    return json.loads(WAIVERS.read_text(encoding="utf-8"))["waivers"]


def run_alone(statement: str) -> int:
    """The exit status of a process that does nothing but `statement`."""
    return subprocess.run([sys.executable, "-c", "import torch\n" + statement], stderr=subprocess.DEVNULL, check=False).returncode


class Documents(unittest.TestCase):
    def test_sections_and_waivers_name_the_same_disagreements(self):
        named = {waiver["bug"] for waiver in waivers()}
        self.assertEqual(named, {f"docs/disagreements.md#{name}" for name in sections()})

    def test_names_are_distinct(self):
        names = SECTION.findall(DOCUMENT.read_text(encoding="utf-8"))
        self.assertEqual(len(names), len(set(names)))

    def test_every_section_names_operators_and_gives_an_example(self):
        for name, text in sections().items():
            with self.subTest(name):
                self.assertIn("`aten::", text)
                self.assertGreater(len(doctest.DocTestParser().get_examples(text)), 0)
                self.assertIn("Right:", text)


class Gloo(unittest.TestCase):
    def test_sections_and_waivers_name_the_same_faults(self):
        text = (ROOT / "docs/distributed.md").read_text(encoding="utf-8")
        named = {f"docs/distributed.md#{name}" for name in re.findall(r"^### (gloo-.+)$", text, re.MULTILINE)}
        known = json.loads(WAIVERS.with_name("torch_gloo.json").read_text(encoding="utf-8"))["waivers"]
        self.assertEqual(named, {waiver["bug"] for waiver in known})
        # Whatever is not bad input must be right.
        self.assertTrue(all(re.search("/(faults|bad)/", waiver["case"]) for waiver in known))


@unittest.skipIf(torch is None, "this Python has no PyTorch")
class Disagreements(unittest.TestCase):
    """One test a section: it fails when the disagreement has vanished."""


def example_test(name: str, text: str):
    def test(self):
        version = torch.__version__
        if not any(fnmatch.fnmatch(version, w["version"]) for w in waivers() if w["bug"].endswith("#" + name)):
            self.skipTest(f"PyTorch {version} is not the version that the waivers are for")
        scope = {
            "torch": torch, "aten": torch.ops.aten, "tensor": torch.tensor, "inf": math.inf, "nan": math.nan,
            "bf16": torch.bfloat16, "f64": torch.float64, "math": math, "statistics": statistics, "struct": struct,
            "signal": signal, "Fraction": Fraction, "run_alone": run_alone,
        }  # fmt: skip
        examples = doctest.DocTestParser().get_doctest(text, scope, name, str(DOCUMENT), 0)
        said: list[str] = []
        doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(examples, out=said.append)
        self.assertEqual("".join(said), "", f"{name}: PyTorch gives something else now")

    return test


if torch is not None:
    for _name, _text in sections().items():
        setattr(Disagreements, "test_" + _name.replace("-", "_"), example_test(_name, _text))

if __name__ == "__main__":
    program = unittest.main(exit=False, verbosity=1)
    if not program.result.wasSuccessful():
        sys.exit(1)
    if torch is None:
        print("skipped in part: this Python has no PyTorch")
        sys.exit(77)
