"""What runs did otherwise than a paper's recipe, key by key: 'steps 1,000 (paper: 500,000)'."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hashbench.results.papers.paper import Paper, RecipeValue
from hashbench.results.read.measured import Measured
from hashbench.results.read.runs import MeasuredRun
from hashbench.results.tables.tuning import declarations, rows_that_decided
from hashbench.results.tables.wording import ModelTask, plain, where_it_holds

Values = Mapping[ModelTask, RecipeValue]  # of a key


def pretraining_deviations(measured: Measured, paper: Paper) -> list[str]:
    """Differences of all pre-trainings of the experiment from the paper's."""
    runs = measured.pretrainings()
    lines = _differing(measured, runs, "pretrain", paper.recipe.pretrain)
    lines += _differing(measured, [run for run in runs if run.spec["corpus"]], "corpus", paper.recipe.corpus)
    if paper.recipe.corpora:
        corpora: Values = {_place(run): ", ".join(corpora_of(run)) for run in runs}
        lines += _lines("corpora", corpora, dict.fromkeys(corpora, ", ".join(paper.recipe.corpora)))
    if paper.recipe.vocabulary is None:
        return lines
    trained: Values = {_place(run): rows for run in runs for rows in _trained_rows(run.spec["model"]["tokenizer"])}
    return lines + _lines("trained vocabulary", trained, dict.fromkeys(trained, paper.recipe.vocabulary))


def _trained_rows(tokenizer: Mapping[str, Any]) -> list[int]:
    """The size of a vocabulary that a tokenizer learns from the corpus; nothing where it was given or there is none.

    >>> _trained_rows({"kind": "bpe", "bpe": {"train": 50265}}), _trained_rows({"kind": "words", "lowercase": True})
    ([50265], [])
    """
    return [block["train"] for block in tokenizer.values() if isinstance(block, dict) and "train" in block]


def finetuning_deviations(measured: Measured, paper: Paper) -> list[str]:
    """Differences of all fine-tunings of the experiment from the paper's, the number of seeds among them."""
    runs = [run for run in measured.trainings() if "finetune" in run.spec]
    lines = _differing(measured, runs, "finetune", paper.recipe.finetune)
    seeds = len({run.seed for run in runs})
    if runs and paper.recipe.seeds and seeds != paper.recipe.seeds:
        lines.append(f"seeds {seeds} (paper: {paper.recipe.seeds})")
    return lines


def encoder_deviation(measured: Measured, paper: Paper) -> list[str]:
    """The sizes of the encoder where they are not the paper's; nothing where its models have sizes of their own."""
    if paper.recipe.encoder is None:
        return []
    sizes: Values = {(run.model, None): run.encoder for run in measured.runs if not run.is_baseline}
    return _lines("encoder", sizes, dict.fromkeys(sizes, paper.recipe.encoder))


def corpora_of(run: MeasuredRun) -> list[str]:
    """The names of the corpora that a pre-training read."""
    return [corpus["name"] for corpus in run.spec["corpus"]["corpora"]] if run.spec["corpus"] else []


def _place(run: MeasuredRun) -> ModelTask:
    return run.model, run.task


def _differing(
    measured: Measured, runs: Sequence[MeasuredRun], block: str, recipe: Mapping[str, RecipeValue]
) -> list[str]:
    """One line for each key of a recipe whose value is another in some run."""
    lines: list[str] = []
    declared, distinct = declarations(measured), _distinct(runs, block)
    for key, wanted in recipe.items():
        having = [run for run in distinct if key in run.spec[block]]
        ours = {_place(run): run.block(block)[key] for run in having}
        theirs = {_place(run): _wanted(run, wanted) for run in having}
        chosen = {place: rows_that_decided(declared, f"{block}.{key}", *place) for place in ours}
        lines += _lines(key, ours, theirs, chosen)
    return lines


def _distinct(runs: Sequence[MeasuredRun], block: str) -> list[MeasuredRun]:
    """One run for those of a model and task that share a block of their specs, as runs that differ by seed do."""
    by_content = {(*_place(run), id(run.spec[block]), id(run.spec["model"]), run.precision): run for run in runs}
    return list(by_content.values())


def _wanted(run: MeasuredRun, wanted: RecipeValue) -> RecipeValue:
    """The paper's value for a run; a mapping gives it by objective."""
    if not isinstance(wanted, dict):
        return wanted
    objective = run.spec["model"]["objective"]
    return wanted.get(objective["kind"]) if objective else None


def _lines(key: str, ours: Values, theirs: Values, chosen: Mapping[ModelTask, str] | None = None) -> list[str]:
    """'key value (paper: value; tuned on rows)', with models and tasks where they are not all alike."""
    alike: dict[tuple[str, str, str], list[ModelTask]] = {}
    for place, value in ours.items():
        if value != theirs[place]:
            rows = chosen[place] if chosen else ""
            words = (plain(value), plain(theirs[place]), f"; tuned on {rows}" if rows else "")
            alike.setdefault(words, []).append(place)
    return [
        f"{key} {value}{where_it_holds(places, ours)} (paper: {wanted}{tuned})"
        for (value, wanted, tuned), places in alike.items()
    ]
