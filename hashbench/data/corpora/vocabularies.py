"""Vocabularies learned on more than one kind of text, as on corpora and the training texts of tasks.

Such a vocabulary is learned before the corpora are prepared, and has a folder in the cache; one that is learned on
the corpora alone is part of their preparation (`preparing.py`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hashbench.common.shared import SharedFolder, make_once
from hashbench.data.corpora.tokenizing import telling
from hashbench.data.sources.documents import Again, CorpusSource
from hashbench.data.sources.fingerprints import digest
from hashbench.models.text.base import Tokenizer

FORMAT = 1  # of a learned vocabulary; a change learns all of them anew
# That a vocabulary is learned on, of all corpora together, and as many of all tasks; more changes few merges
TRAINING_CHARACTERS = 500_000_000


@dataclass(frozen=True)
class LearnedTexts:
    """Texts that a vocabulary is learned on, not read yet."""

    fingerprint: str  # of the data and of what is read of them
    read: Callable[[], Iterable[str]]
    most: int  # characters, about, that are read of them


def corpus_texts(source: CorpusSource, max_documents: int | None, *, articles: bool, of: int) -> LearnedTexts:
    """The texts of one of `of` corpora that a vocabulary is learned on together."""
    return LearnedTexts(
        digest("corpus", source.fingerprint, json.dumps([max_documents, articles])),
        lambda: source.documents(max_documents, articles=articles),
        TRAINING_CHARACTERS // of,
    )


def first_texts(parts: Sequence[LearnedTexts]) -> Iterator[str]:
    """The first texts of each part, up to its number of characters; the last of them is whole."""
    for part in parts:
        remaining = part.most
        for text in part.read():
            if remaining <= 0:
                break
            remaining -= len(text)
            yield text


def trained_recipe(tokenizer: Tokenizer, vocabulary_size: int) -> dict[str, object]:
    """The recipe of a vocabulary that is learned, with its size and the number of characters that are read for it."""
    trained = {"kind": tokenizer.kind, "train": vocabulary_size, "characters": TRAINING_CHARACTERS}
    return trained | tokenizer.options()


def learn_vocabulary(
    tokenizer: Tokenizer,
    vocabulary_size: int,
    parts: Sequence[LearnedTexts],
    folder: Path,
    *,
    progress: Callable[[str], None] | None = None,
    shared: SharedFolder | None = None,
) -> str:
    """The key of a vocabulary, which is learned now if `folder` has it not yet, and loaded into the tokenizer."""
    recipe = json.dumps(trained_recipe(tokenizer, vocabulary_size), sort_keys=True)
    key = digest("vocabulary", str(FORMAT), recipe, *(part.fingerprint for part in parts))

    def build(partial: Path) -> None:
        what = f"training the {tokenizer.title}"
        texts = Again(lambda: telling(first_texts(parts), progress or (lambda text: None), what))
        tokenizer.train(texts, vocabulary_size)
        tokenizer.save(partial)

    tokenizer.load(make_once(folder / key, build, shared=shared))
    return key
