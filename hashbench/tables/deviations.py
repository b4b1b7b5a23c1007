"""What runs did otherwise than a paper's recipe, key by key: 'steps 1,000 (paper: 500,000)'."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hashbench.papers.paper import Paper, RecipeValue
from hashbench.results.measured import Measured
from hashbench.results.runs import MeasuredRun

NAMES_SHOWN = 3  # models that are named before they are only counted


def pretraining_deviations(measured: Measured, paper: Paper) -> list[str]:
    """Differences of all pre-trainings of the experiment from the paper's."""
    runs = measured.pretrainings()
    lines = _differing(runs, "pretrain", paper.recipe.pretrain)
    lines += _differing([run for run in runs if run.spec["corpus"]], "corpus", paper.recipe.corpus)
    if paper.recipe.corpora:
        corpora = {run.model: ", ".join(corpora_of(run)) for run in runs}
        lines += _line("corpora", corpora, dict.fromkeys(corpora, ", ".join(paper.recipe.corpora)))
    if paper.recipe.vocabulary is None:
        return lines
    trained = {run.model: rows for run in runs for rows in _trained_rows(run.spec["model"]["tokenizer"])}
    return lines + _line("trained vocabulary", trained, dict.fromkeys(trained, paper.recipe.vocabulary))


def _trained_rows(tokenizer: Mapping[str, Any]) -> list[int]:
    """The size of a vocabulary that a tokenizer learns from the corpus; nothing where it was given or there is none.

    >>> _trained_rows({"kind": "bpe", "bpe": {"train": 50265}}), _trained_rows({"kind": "words", "lowercase": True})
    ([50265], [])
    """
    return [block["train"] for block in tokenizer.values() if isinstance(block, dict) and "train" in block]


def finetuning_deviations(measured: Measured, paper: Paper) -> list[str]:
    """Differences of all fine-tunings of the experiment from the paper's, the number of seeds among them."""
    runs = [run for run in measured.trainings() if "finetune" in run.spec]
    lines = _differing(runs, "finetune", paper.recipe.finetune)
    seeds = len({run.seed for run in runs})
    if runs and paper.recipe.seeds and seeds != paper.recipe.seeds:
        lines.append(f"seeds {seeds} (paper: {paper.recipe.seeds})")
    return lines


def encoder_deviation(measured: Measured, paper: Paper) -> list[str]:
    """The sizes of the encoder where they are not the paper's; nothing where its models have sizes of their own."""
    if paper.recipe.encoder is None:
        return []
    sizes = {run.model: run.encoder for run in measured.runs if not run.is_baseline}
    return _line("encoder", sizes, dict.fromkeys(sizes, paper.recipe.encoder))


def corpora_of(run: MeasuredRun) -> list[str]:
    """The names of the corpora that a pre-training read."""
    return [corpus["name"] for corpus in run.spec["corpus"]["corpora"]] if run.spec["corpus"] else []


def _differing(runs: Sequence[MeasuredRun], block: str, recipe: Mapping[str, RecipeValue]) -> list[str]:
    """One line for each key of a recipe whose value is another in some run."""
    lines: list[str] = []
    for key, wanted in recipe.items():
        ours = {run.model: run.spec[block][key] for run in runs if key in run.spec[block]}
        theirs = {run.model: _wanted(run, wanted) for run in runs}
        lines += _line(key, ours, theirs)
    return lines


def _wanted(run: MeasuredRun, wanted: RecipeValue) -> RecipeValue:
    """The paper's value for a run; a mapping gives it by objective."""
    if not isinstance(wanted, dict):
        return wanted
    objective = run.spec["model"]["objective"]
    return wanted.get(objective["kind"]) if objective else None


def _line(key: str, ours: Mapping[str, RecipeValue], theirs: Mapping[str, RecipeValue]) -> list[str]:
    """'key value (paper: value)', with the models where they are not all alike; nothing where none differs."""
    by_values: dict[tuple[str, str], list[str]] = {}
    for model, value in ours.items():
        if value != theirs[model]:
            by_values.setdefault((plain(value), plain(theirs[model])), []).append(model)
    return [f"{key} {value}{_of(models, ours)} (paper: {wanted})" for (value, wanted), models in by_values.items()]


def _of(models: Sequence[str], all_models: Mapping[str, RecipeValue]) -> str:
    if len(models) == len(all_models):
        return ""
    if len(models) <= NAMES_SHOWN:
        return f" for {', '.join(models)}"
    return f" for {len(models)} of {len(all_models)} models"


def plain(value: object) -> str:
    """A value of a recipe as a reader writes it.

    >>> plain(500000), plain(1e-4), plain(5e-5), plain([0.9, 0.9999]), plain(None), plain(True)
    ('500,000', '0.0001', '5e-05', '0.9, 0.9999', 'none', 'yes')
    """
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list | tuple):
        return ", ".join(plain(item) for item in value)
    return str(value)
