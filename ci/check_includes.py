#!/usr/bin/env python3
"""Checks which way includes point (README, "The house"): only down the floors.

Usage: check_includes.py [ROOT]. Prints each offending line; exit status 1 if there is one.
"""

import pathlib
import re
import sys

# Room -> rooms (or folders of rooms) whose headers it may include beside its own.
ALLOWED = {
    "core": [],
    "abi": [],
    "reference": ["core", "abi"],
    "backend": ["core", "abi"],
    "models": ["core"],
    "harness": ["reference", "models", "abi", "core"],
    "suites": ["harness/case", "models", "core"],
    "sweeps": ["harness/case", "models", "core"],
    "reports": ["harness/record", "core"],
    "cli": ["reports", "suites", "sweeps", "harness", "models", "reference", "backend", "abi", "core"],
}
FLOOR = {"core": 0, "abi": 1, "reference": 2, "backend": 2, "models": 3, "harness": 4, "suites": 5, "sweeps": 5,
         "reports": 6, "cli": 7}
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')


def target_of(include: str) -> str:
    """The repository path an include names: the ABI's headers are included as a vendor would."""
    return "abi/" + include if include.startswith("assay/") else include


def offences(root: pathlib.Path) -> list[str]:
    found = []
    for room, allowed in ALLOWED.items():
        for path in sorted((root / room).rglob("*")):
            if path.suffix not in (".h", ".hpp", ".cpp", ".inc"):
                continue
            is_test = path.stem.endswith("_test")
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                match = INCLUDE.match(line)
                if not match:
                    continue
                target = target_of(match.group(1))
                other = target.split("/")[0]
                fine = other == room or any(target.startswith(prefix + "/") for prefix in allowed)
                if is_test and FLOOR.get(other, 99) <= 4:
                    fine = True
                if not fine:
                    found.append(f"{path.relative_to(root)}:{number}: {room}/ may not include \"{match.group(1)}\"")
    return found


def main() -> int:
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    found = offences(root)
    print("\n".join(found) if found else "includes point down only")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
