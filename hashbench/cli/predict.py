"""`predict`: what an exported model says of texts."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from hashbench.cli.options import TextOrJson, TrustCode
from hashbench.errors import InputError


def predict(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="What hashbench export wrote.", show_default=False)],
    texts: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TEXT]...", help="Texts; a pair is two with a tab between. Else lines of stdin."),
    ] = None,
    style: TextOrJson = "text",
    trust_code: TrustCode = False,
) -> None:
    """Labels, or values of a regression, that an exported model gives to texts, one a line.

    Example: hashbench predict my-model "a gripping film"
    """
    from hashbench.export.loading import load

    lines = texts if texts else [line.rstrip("\n") for line in sys.stdin]
    model = load(folder, trust_code=trust_code)
    first, second = _pairs(lines) if model.config.is_pair else (lines, None)
    predictions = model.predict(first, second)
    if style == "text":
        print("".join(f"{prediction}\n" for prediction in predictions), end="")
        return
    is_regression = model.config.n_outputs == 1
    shares = [None] * len(lines) if is_regression else model.probabilities(first, second).tolist()
    for i, line in enumerate(lines):
        row = {"text": line, "prediction": predictions[i], "probabilities": shares[i]}
        print(json.dumps(row, ensure_ascii=False))


def _pairs(lines: Sequence[str]) -> tuple[list[str], list[str]]:
    """Both texts of each line. Raises InputError for a line without a tab."""
    for line in lines:
        if "\t" not in line:
            raise InputError(f"{line[:60]!r}: no pair; write two texts with a tab between")
    parts = [line.split("\t", 1) for line in lines]
    return [first for first, _ in parts], [second for _, second in parts]
