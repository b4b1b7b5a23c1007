"""Numbers that a run measured, and its notes that tables read.

The notes: how recipe values were tuned, the paradigms of minimal pairs, and how much of its texts a model reads.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

# Begins the topic of a run's note on the class that a metric counts: "class of f1"
COUNTED = "class of "
# The split of numbers of a pre-training on rows that it did not train on
HELD_OUT = "held-out rows"
# How well they tell shuffled tokens from intact ones: area under the ROC curve
SEPARATION = "separation"


@dataclass(frozen=True)
class MetricRow:
    """One number, in its natural range (scores 0 to 1 or -1 to 1, times in ms). None is missing and needs a reason."""

    name: str
    value: float | None
    split: str = ""  # of the data; "" for values without one
    step: int = 0
    condition: str = ""  # another way of evaluating: "tenth=3", "swap=0.05"; "" for all examples as they are
    reason: str | None = None  # why there is no value

    def stored(self) -> tuple[float | None, str | None]:
        """Value and reason as they are stored: what is not finite becomes missing, with its name as reason.

        >>> MetricRow("pearson", float("nan")).stored()
        (None, 'nan')
        """
        if self.value is None:
            return None, self.reason or "not given"
        value = float(self.value)
        if math.isfinite(value):
            return value, self.reason
        return None, self.reason or str(value)


STORED = "tuning"  # key of a stored experiment: by model, by name of the value
# Topics of a run's notes: JSON of the values that it chose; the rows on which it did; why no evaluation was the best
CHOSEN_NOTE, SEARCHED_ON_NOTE, UNSELECTED_NOTE = "searched", "searched_on", "unselected"
# Key of a trivial baseline's spec and its value, where it learns from the rows too that are held out of train
LEARNED, LEARNED_MORE = "learned", "train and holdout"
TRAIN_ROWS = "train_rows"  # in the spec of a training: the number of rows of train that its seed draws
DATA_BYTES = "int8_data"  # bytes of an int8 export: its graph and the data of its text side, without code
Declaration = Mapping[str, Any]  # tried, on, by


def searched_values(recipe: Mapping[str, Any]) -> dict[str, list[Any]]:
    """The values of a fine-tuning's recipe that are lists, which its run searches.

    Two betas are one value, and of seeds and numbers of train rows each is another run.

    >>> searched_values({"batch_size": [16, 32], "betas": [0.9, 0.999], "epochs": 3, "learning_rate": (1e-4, 3e-4)})
    {'batch_size': [16, 32], 'learning_rate': [0.0001, 0.0003]}
    """
    of_runs = ("seeds", "train_rows")
    lists = {key: list(of) for key, of in recipe.items() if isinstance(of, list | tuple) and of and key not in of_runs}
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


PARADIGMS_NOTE = "paradigms"  # the topic under which a run on minimal pairs stores them


@dataclass(frozen=True)
class Paradigms:
    """The paradigms by their numbers, which are the targets of stored predictions, and their groups by level."""

    names: tuple[str, ...]
    groups: Mapping[str, tuple[str, ...]]  # level, as "phenomenon" -> the group of each paradigm
    # Whether both sentences of all its pairs hold the same words, so that how frequent words are decides nothing
    same_words: tuple[bool, ...]

    def note(self) -> str:
        """The paradigms as the text of a run's note."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def of_notes(cls, notes: Mapping[str, str]) -> Paradigms | None:
        """The paradigms among the notes of a run; None where it has none."""
        if PARADIGMS_NOTE not in notes:
            return None
        read = json.loads(notes[PARADIGMS_NOTE])
        groups = {level: tuple(of) for level, of in read["groups"].items()}
        return cls(tuple(read["names"]), groups, tuple(read["same_words"]))


TEXTS_NOTE = "texts_read"  # the topic under which a training stores its counts
NOTED_LOSS = 0.02  # a share of characters lost above which tables have a sign; a difference of shares that is printed


@dataclass(frozen=True)
class TextCounts:
    """Counts over the texts of one split, both texts of a pair. Special tokens do not count.

    The characters of a cut text that lie behind its last kept token are lost. A character that is kept in part (some
    of its bytes) is kept, and so is all that a tokenizer passes over between kept tokens, such as white space.
    """

    texts: int
    texts_cut: int
    tokens: int
    tokens_lost: int
    characters: int
    characters_lost: int

    @property
    def tokens_a_text(self) -> float:
        """The mean number of tokens of a text, lost ones included."""
        return self.tokens / max(1, self.texts)

    @property
    def share_cut(self) -> float:
        """The share of texts that lose a token at least."""
        return self.texts_cut / max(1, self.texts)

    @property
    def share_of_tokens_lost(self) -> float:
        """The share of tokens that no model reads."""
        return self.tokens_lost / max(1, self.tokens)

    @property
    def share_lost(self) -> float:
        """The share of characters that no model reads."""
        return self.characters_lost / max(1, self.characters)


@dataclass(frozen=True)
class TextsRead:
    """The counts of every split under one tokenizer and one limit."""

    max_length: int  # tokens of an input, special tokens included
    splits: Mapping[str, TextCounts]

    def keeps(self, share: float) -> bool:
        """True where that share of the tokens of train is read, or nothing of train is counted."""
        train = self.splits.get("train")
        return train is None or train.tokens - train.tokens_lost >= share * train.tokens

    def record(self) -> dict[str, Any]:
        """The counts as plain JSON, which `of_record` reads."""
        return {"max_length": self.max_length, "splits": {name: asdict(of) for name, of in self.splits.items()}}

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> TextsRead:
        """The counts in a record of `record`."""
        return cls(record["max_length"], {name: TextCounts(**of) for name, of in record["splits"].items()})

    def note(self) -> str:
        """The counts as the text of a run's note."""
        return json.dumps(self.record(), separators=(",", ":"))

    @classmethod
    def of_notes(cls, notes: Mapping[str, str]) -> TextsRead | None:
        """The counts among the notes of a run; None where the run was stored without them."""
        return cls.of_record(json.loads(notes[TEXTS_NOTE])) if TEXTS_NOTE in notes else None
