"""Write not_exported.csv from the record of a wide trial of exports.

    python3 -m sweeps.export.not_exported --tried models_tried.csv --out sweeps/catalogue

`models_tried.csv` (kind, model, attention, experts, exported, nodes,
distinct_ops, error) has one row for each model, attention and expert
implementation that was tried with torch 2.13.0 and transformers 5.23.0;
its errors are cut after 60 characters. Rows that failed are kept, with what
the error means; a model that does not exist is no finding and is left out.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

HEADER = ("id", "kind", "model", "attention", "reason")

# The trial's own kinds are coarser.
KINDS = {
    "longt5": "seq2seq",
    "switch_transformers": "seq2seq",
    "led": "seq2seq",
    "cvt": "vision",
    "dpt": "vision",
    "vilt": "vision",
    "encodec": "audio",
}
REASONS = (
    ("GuardOnDataDependentSymNode", "control flow depends on data: torch.export cannot guard on it"),
    ("does not support an", "transformers refuses this attention implementation for the model"),
    ("Cannot view a tensor with shape", "run_decompositions fails on strides"),
)
NO_SUCH_MODEL = "Unknown model"


def kind_of(row: dict[str, str]) -> str:
    if row["kind"].startswith("lm"):
        return "lm"
    return KINDS.get(row["model"], "encoder")


def reason_of(error: str) -> str:
    for fragment, reason in REASONS:
        if fragment in error:
            return reason
    return f"the reduced configuration or the call was not accepted: {error}"


def rows(tried: Path) -> list[tuple[str, ...]]:
    with tried.open(newline="", encoding="utf-8") as file:
        failed = [row for row in csv.DictReader(file) if row["exported"] == "0"]
    kept = []
    for row in failed:
        if NO_SUCH_MODEL in row["error"]:
            continue
        experts = f"-{row['experts']}_experts" if row["experts"] else ""
        id = f"{row['model']}-{row['attention']}{experts}"
        kept.append((id, kind_of(row), row["model"], row["attention"], reason_of(row["error"])))
    return kept


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tried", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=Path("sweeps/catalogue"))
    arguments = parser.parse_args()
    with (arguments.out / "not_exported.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        writer.writerows(rows(arguments.tried))


if __name__ == "__main__":
    main()
