"""How an experiment declares that recipe values were tuned: the key in the store, the words of tables and notes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

STORED = "tuning"  # key of a stored experiment: by model, by name of the value
# Topics of a run's notes: JSON of the values that it chose; the rows on which it did; why no evaluation was the best
CHOSEN_NOTE, SEARCHED_ON_NOTE, UNSELECTED_NOTE = "searched", "searched_on", "unselected"
# Key of a trivial baseline's spec and its value, where it learns from the rows too that are held out of train
LEARNED, LEARNED_MORE = "learned", "train and holdout"
Declaration = Mapping[str, Any]  # tried, on, by


def searched_values(recipe: Mapping[str, Any]) -> dict[str, list[Any]]:
    """The values of a fine-tuning's recipe that are lists, which its run searches.

    Two betas are one value, and of seeds each is another run.

    >>> searched_values({"batch_size": [16, 32], "betas": [0.9, 0.999], "epochs": 3, "learning_rate": (1e-4, 3e-4)})
    {'batch_size': [16, 32], 'learning_rate': [0.0001, 0.0003]}
    """
    lists = {key: list(of) for key, of in recipe.items() if isinstance(of, list | tuple) and of and key != "seeds"}
    return {key: values for key, values in lists.items() if key != "betas" or isinstance(values[0], list | tuple)}


def declared_words(declaration: Declaration) -> str:
    """A declaration of how a value was tuned, in words.

    >>> declared_words({"tried": [1e-4, 3e-4], "on": "validation", "by": "accuracy of proformer"})
    'tried 0.0001, 0.0003 on validation (accuracy of proformer)'
    """
    by = f" ({declaration['by']})" if declaration["by"] else ""
    return f"tried {plain(declaration['tried'])} on {declaration['on']}{by}"


def card_lines(declared: Mapping[str, Declaration], task: str | None) -> list[str]:
    """A line 'name: words' for each declared value that applies to a task, or, for None, to pre-training.

    >>> epochs = {"tried": [5], "on": "validation", "by": ""}
    >>> card_lines({"finetune.per_task.mrda.epochs": epochs, "pretrain.steps": epochs}, "atis")
    ['pretrain.steps: tried 5 on validation']
    """
    if task is None:
        names = [name for name in declared if not name.startswith("finetune.")]
    else:
        of_task = f"finetune.per_task.{task}."
        names = [name for name in declared if "per_task" not in name or name.startswith(of_task)]
    return [f"{name}: {declared_words(declared[name])}" for name in names]


def plain(value: object) -> str:
    """A value of a recipe as text for a reader.

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
