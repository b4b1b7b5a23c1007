"""`predict`: what an exported model says of texts."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from hashbench.cli.options import TextOrJson, TrustCode
from hashbench.common.errors import InputError

if TYPE_CHECKING:
    from hashbench.deployment.loading import Predictor


def predict(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="A folder that hashbench export wrote.", show_default=False)
    ],
    texts: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TEXT]...", help="The texts; two with a tab between are a pair. Default: the lines of stdin."
        ),
    ] = None,
    stream: Annotated[
        bool, typer.Option("--stream", help="Answer each line of stdin at once, before the next is read.")
    ] = False,
    style: TextOrJson = "text",
    trust_code: TrustCode = False,
) -> None:
    """Print the label, or the value of a regression, that an exported model predicts for each text.

    Example: hashbench predict my-model "a gripping film"
    """
    from hashbench.deployment.inputs import asked_line
    from hashbench.deployment.loading import load

    if stream and texts:
        raise InputError("predict --stream: reads lines of stdin; leave the texts out, or --stream")
    model = load(folder, trust_code=trust_code)
    given: Iterable[str | bytes] = texts or sys.stdin.buffer
    lines = (asked_line(line, f"line {number} of stdin", model.config.is_pair) for number, line in enumerate(given, 1))
    for part in ([line] for line in lines) if stream else [list(lines)]:
        for answer in _answers(model, part, style):
            print(answer)
        sys.stdout.flush()


def _answers(model: Predictor, lines: list[str], style: Literal["text", "json"]) -> Iterator[str]:
    """A line of output for each line of input."""
    from hashbench.deployment.inputs import of_lines

    if style == "text":
        predictions: Any = model.predict(of_lines(lines, model.config.is_pair))  # of a list it is a list
        return map(str, predictions)
    return (json.dumps(vars(answer), ensure_ascii=False) for answer in model.answers(lines))
