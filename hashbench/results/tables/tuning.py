"""How recipe values were chosen, as the experiment's file declares it, in the words of a table and of a model card."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from hashbench.results.read.measured import Measured
from hashbench.results.tables.wording import ModelTask, plain, where_it_holds

STORED = "tuning"  # key of a stored experiment: by model, by name of the value
NOT_DECLARED = "not declared"
REPORTED = ("test", "dev that is reported")  # rows that scores are read from: what was chosen on them is optimistic
SEARCHED = {"on": "held-out tenth of train", "by": "searched by the sweep in each run"}
Declaration = Mapping[str, Any]  # tried, on, by
Known = Mapping[str, Mapping[str, Declaration]]  # by model, by name of the value


def declarations(measured: Measured) -> dict[str, dict[str, Declaration]]:
    """What is known, by model and name: what the file declared, and the grids that the sweep itself searched."""
    config = measured.experiment.config
    stored: dict[str, dict[str, Declaration]] = config[STORED] if STORED in config else {}  # older sweeps declared none
    known = {model: dict(declared) for model, declared in stored.items()}
    for model, rates in measured.grids.items():
        known.setdefault(model, {})["finetune.learning_rate"] = {"tried": rates, **SEARCHED}
    return known


def declared_words(declaration: Declaration) -> str:
    """A declaration in words.

    >>> declared_words({"tried": [1e-4, 3e-4], "on": "validation", "by": "accuracy of proformer"})
    'tried 0.0001, 0.0003 on validation (accuracy of proformer)'
    """
    by = f" ({declaration['by']})" if declaration["by"] else ""
    return f"tried {', '.join(plain(value) for value in declaration['tried'])} on {declaration['on']}{by}"


def card_lines(declared: Mapping[str, Declaration], task: str | None) -> list[str]:
    """'name: words' of a model's values that count for a task (None: for its pre-training)."""
    return [f"{name}: {declared_words(declared[name])}" for name in declared if _counts_for(name, task)]


def _counts_for(name: str, task: str | None) -> bool:
    """Whether a value has to do with a task: recipes of other tasks have not.

    >>> _counts_for("finetune.per_task.mrda.epochs", "mrda"), _counts_for("finetune.per_task.mrda.epochs", "atis")
    (True, False)
    >>> _counts_for("pretrain.steps", None), _counts_for("finetune.epochs", None)
    (True, False)
    """
    if task is None:
        return not name.startswith("finetune.")
    return "per_task" not in name or name.startswith(f"finetune.per_task.{task}.")


def rows_that_decided(known: Known, name: str, model: str, task: str | None) -> str:
    """On which rows a value of a run was chosen, '' where that is not declared; a task's own recipe comes first.

    `known`: the declarations of the experiment.
    """
    declared = known.get(model, {})
    block, _, key = name.partition(".")
    for candidate in (f"{block}.per_task.{task}.{key}", name):
        if candidate in declared:
            return str(declared[candidate]["on"])
    return ""


def tuning_line(measured: Measured) -> str:
    """What was declared, models that share a declaration together; what was not is said too."""
    words = declared_lines(declarations(measured), measured.labels())
    return "; ".join([*words, f"all other values: {NOT_DECLARED}"]) if words else NOT_DECLARED


def tuned_on_reported(measured: Measured) -> list[str]:
    """The line that must be said loudly of values that were chosen by the scores that are reported."""

    def said(name: str, declaration: Declaration) -> str:
        return f"{name} on {declaration['on']}" if declaration["on"] in REPORTED else ""

    words = _models_by_words(declarations(measured), measured.labels(), said)
    return [f"TUNED ON WHAT IS REPORTED: {'; '.join(words)}: these scores are optimistic."] if words else []


def declared_lines(known: Known, models: Iterable[str]) -> list[str]:
    """Each declaration in words, once, with those of `models` that it holds for where these are not all."""
    return _models_by_words(known, models, lambda name, declaration: f"{name} {declared_words(declaration)}")


def _models_by_words(known: Known, models: Iterable[str], form: Callable[[str, Declaration], str]) -> list[str]:
    """What `form` says of each declaration, with the models where it does not hold for all; '' says nothing."""
    everywhere: list[ModelTask] = [(model, None) for model in sorted(models)]
    places: dict[str, list[ModelTask]] = {}
    for model, declared in known.items():
        for name, declaration in declared.items():
            if (model, None) in everywhere and (words := form(name, declaration)):
                places.setdefault(words, []).append((model, None))
    return [words + where_it_holds(some, everywhere) for words, some in places.items()]
