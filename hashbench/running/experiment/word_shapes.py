"""How the words of a task look under the tokenizers of an experiment: a note where they fall apart or run together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hashbench.common.errors import InputError
from hashbench.data.tasks.text_data import TaskData
from hashbench.models.embeddings.base import TextSpec
from hashbench.models.text.base import Tokenizer, make_tokenizer
from hashbench.models.text.token_lengths import shape_note, token_lengths
from hashbench.running.experiment.models import ResolvedModel

READ = 1_000  # texts of each column of train that are looked at


def word_shapes(data: TaskData, models: Iterable[ResolvedModel]) -> list[str]:
    """A note for the models whose words do not look like words.

    Raises InputError for a tokenizer that leaves a text with letters or digits empty.
    """
    notes: dict[str, str] = {}  # by tokenizer: most models share one
    labels_by_note: dict[str, list[str]] = {}
    for model in models:
        text = model.spec.text
        key = repr((text.tokenizer, text.args))
        if key not in notes:
            tokenizer = make_tokenizer(text.tokenizer, **text.args)
            if tokenizer.makes_words:
                check_tokens(data, tokenizer, text)
            notes[key] = words_note(data, tokenizer)
        labels_by_note.setdefault(notes[key], []).append(model.label)
    return [f"{', '.join(labels)}: {note}" for note, labels in labels_by_note.items() if note]


def words_note(data: TaskData, tokenizer: Tokenizer) -> str:
    """What should be said of the words of a task; "" for a tokenizer that makes none."""
    if not tokenizer.makes_words:
        return ""
    return shape_note(token_lengths(token for _, text in _texts(data) for token in tokenizer.tokenize(text)))


def check_tokens(data: TaskData, tokenizer: Tokenizer, spec: TextSpec) -> None:
    """Raises InputError where a text with letters or digits has no token."""
    for row, text in _texts(data):
        if any(letter.isalnum() for letter in text) and not tokenizer.tokenize(text):
            args = ", ".join(f"{key} {value!r}" for key, value in spec.args.items())
            raise InputError(
                f"task {data.task.name!r}: row {row} of train, {text[:40]!r}, has no token under tokenizer "
                f"{spec.tokenizer}{f' ({args})' if args else ''}; take another pattern"
            )


def _texts(data: TaskData) -> Iterator[tuple[int, str]]:
    for column in data.splits["train"].texts:
        yield from enumerate(column[:READ], start=1)
