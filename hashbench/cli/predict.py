"""`predict`: what an exported model says of texts."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from hashbench.cli.options import TextOrJson, TrustCode
from hashbench.errors import InputError

if TYPE_CHECKING:
    from hashbench.export.loading import Predictor


def predict(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="What hashbench export wrote.", show_default=False)],
    texts: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TEXT]...", help="Texts; a pair is two with a tab between. Else lines of stdin."),
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
    from hashbench.export.loading import load

    if stream and texts:
        raise InputError("predict --stream: reads lines of stdin; leave the texts out, or --stream")
    model = load(folder, trust_code=trust_code)
    asked = enumerate(texts, 1) if texts else enumerate(sys.stdin.buffer, 1)
    read = (_text(line, f"line {number} of stdin", model) for number, line in asked)
    for part in ([one] for one in read) if stream else [list(read)]:
        for answer in _answers(model, part, style):
            print(answer)
        sys.stdout.flush()


def _text(line: str | bytes, where: str, model: Predictor) -> str:
    """A line as the model takes it. Raises InputError where it is not UTF-8, or no pair where a pair is asked for."""
    if isinstance(line, str):
        where, text = repr(line[:60]), line
    else:
        try:
            text = line.decode().rstrip("\r\n")
        except UnicodeDecodeError as error:
            byte = f"byte {error.start + 1} is 0x{line[error.start]:02x}"
            raise InputError(f"{where}: is not UTF-8 ({byte}); convert the text, as with iconv -t utf-8") from None
    if model.config.is_pair and "\t" not in text:
        raise InputError(f"{where}: no pair; write two texts with a tab between")
    return text


def _answers(model: Predictor, lines: Sequence[str], style: Literal["text", "json"]) -> Iterator[str]:
    """A line of output for each line of input."""
    asked = [_pair(line) for line in lines] if model.config.is_pair else list(lines)
    if style == "text":
        yield from map(str, model.predict(asked))  # type: ignore[arg-type]  # of a list it is a list
        return
    for line, prediction, shares in zip(lines, *_with_shares(model, asked), strict=True):
        row = {"text": line, "prediction": prediction, "probabilities": shares}
        yield json.dumps(row, ensure_ascii=False)


def _with_shares(model: Predictor, asked: list[str] | list[tuple[str, str]]) -> tuple[Iterable[object], ...]:
    """Predictions and, by the names of classes, their shares; None for each of a regression."""
    if model.config.n_outputs == 1:
        return model.predict(asked), [None] * len(asked)  # type: ignore[return-value]  # a list, of a list
    shares = model.probabilities(asked)
    assert isinstance(shares, list)
    return [max(row, key=row.__getitem__) for row in shares], shares


def _pair(line: str) -> tuple[str, str]:
    first, _, second = line.partition("\t")
    return first, second
