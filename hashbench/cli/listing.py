"""The models that there are, in one table: what they read, what they make of it, how large they are, what they need."""

from __future__ import annotations

from collections.abc import Sequence

from hashbench.cli.output import Value, text_lines
from hashbench.efficiency.parameters import count
from hashbench.embeddings.base import ModelSpec
from hashbench.experiment.models import needs_corpus
from hashbench.papers.paper import load_paper, papers
from hashbench.tables.table import scaled

COLUMNS = [
    "model", "paper", "groups", "tokens", "code", "objective", "total_params", "emb_params", "needs", "summary",
]  # fmt: skip
SHOWN = ["model", "tokens", "code", "params", "embedding", "needs"]  # on a terminal, under a heading for each paper
OWN = "Further models, of no paper"
TRAINED_ON = {"mlm": "corpus (MLM)", "shuffle_random": "corpus (shuffle + random)", "entities": "page links"}


def model_rows(specs: Sequence[ModelSpec]) -> list[dict[str, Value]]:
    """A row for each model, those of a paper together; parameters at base, or of the model's own size."""
    order = papers()
    ranked = sorted(specs, key=lambda spec: [*order, spec.origin.paper].index(spec.origin.paper))
    return [_row(spec) for spec in ranked]


def _row(spec: ModelSpec) -> dict[str, Value]:
    counts = count(spec)
    return {
        "model": spec.name,
        "paper": spec.origin.paper,
        "groups": ", ".join(spec.groups),
        "tokens": spec.text.tokenizer,
        "code": _code(spec),
        "objective": spec.training.objective,
        "total_params": counts.total,
        "emb_params": counts.embedding,
        "needs": _needs(spec),
        "summary": spec.summary,
    }


def _code(spec: ModelSpec) -> str:
    """The coder and the numbers that it was given: 'md5-rows 1033'."""
    sizes = [str(value) for value in spec.code.args.values() if type(value) is int]
    return " ".join([spec.code.coder, *sizes])


def _needs(spec: ModelSpec) -> str:
    """What must be there beside the texts of a task."""
    if spec.training.weights not in (None, "random"):
        return "published weights"
    if spec.training.needs:
        return spec.training.needs
    if spec.training.objective is not None:
        return TRAINED_ON[spec.training.objective]
    return "corpus (vocabulary)" if needs_corpus(spec) else "the task alone"


def print_models(rows: Sequence[dict[str, Value]]) -> None:
    """The rows for people: a heading for each paper, the names of groups beside it, sizes in M and K."""
    short = [row | {"params": _size(row["total_params"]), "embedding": _size(row["emb_params"])} for row in rows]
    lines = text_lines(SHOWN, short)
    print(lines[0])
    paper: Value = None
    for row, line in zip(rows, lines[1:], strict=True):
        if row["paper"] != paper:
            paper = row["paper"]
            print(f"\n{load_paper(str(paper)).title if paper in papers() else OWN}")
            print(f"groups: {', '.join(_groups_of(rows, paper)) or 'none'}")
        print(line)
    print("\nparams: at base, or of the model's own size, in the frame of its paper (hashbench params says which).")


def _groups_of(rows: Sequence[dict[str, Value]], paper: Value) -> list[str]:
    """The names under which an experiment may ask for several models of a paper."""
    named = [name for row in rows if row["paper"] == paper for name in str(row["groups"]).split(", ")]
    return list(dict.fromkeys(name for name in named if name))


def _size(count: Value) -> str:
    """A count in M or K; nothing for an embedding without parameters.

    >>> _size(38_603_520), _size(0)
    ('38.6M', '-')
    """
    assert isinstance(count, int)
    value, unit = scaled(count)
    return f"{value:.1f}{unit}" if count else "-"
