"""`hashbench report --claims`: what the report needs from the models' side is handed to it as plain numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hashbench.claims.report import claims_report
from hashbench.cli.output import colored
from hashbench.errors import InputError
from hashbench.store.engine import open_store
from hashbench.store.result import Checkpoint


def print_claims(
    db: str,
    experiment: str | None,
    *,
    paper: str | None,
    file: Path | None,
    style: str,
    parts: bool,
    checkpoint: Checkpoint,
    output: Path | None,
    beside: Sequence[str] = (),
) -> None:
    """Prints the verdicts. `beside`: options of tables that were given too, which claims have not.

    Raises InputError.
    """
    if beside:
        raise InputError(f"report: {beside[0]} is for tables; leave it out, or leave out --claims")
    text = claims_report(
        open_store(db, create=False, read_only=True), experiment=experiment, paper=paper, file=file, format=style,
        parts=parts, checkpoint=checkpoint, output=output, color=colored(), costs=operations,
    )  # fmt: skip
    print(text.rstrip("\n"))


def operations(model: str, column: str, length: int) -> float | None:
    """Attention scores of a layer, or all multiply-adds of a forward pass; None for a model without that arithmetic."""
    from hashbench.cli.costs import shape_of
    from hashbench.efficiency.costs import attention_scores, multiply_adds
    from hashbench.embeddings.registry import find_model

    try:
        shape = shape_of(find_model(model), "base")
    except InputError:
        return None
    return attention_scores(shape, length) if column == "attention_scores" else multiply_adds(shape, length).total
