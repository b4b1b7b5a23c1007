"""Hidden items of corpora (Superbloom, section 4): word pieces, words and pairs of words of documents."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hashbench.common.errors import InputError
from hashbench.data.sources.sources import Source, locate_corpus
from hashbench.data.tasks.base import Task
from hashbench.data.tasks.blocks import Strict, TaskEntry
from hashbench.data.tasks.items import METRICS, ItemKind, LinkSet, RowLength, popularity, protocol_of
from hashbench.data.tasks.phrases import NAME, LocatedPhrases, PhrasesBlock

if TYPE_CHECKING:
    from hashbench.data.tasks.item_batches import ItemSettings
    from hashbench.data.tasks.phrase_batches import HiddenPhrases, PhraseData


class CorpusPhrases(ItemKind):
    """The kind of masked items of corpora: items keep the order of a text, a row is a sequence of a document."""

    name = NAME
    block = PhrasesBlock
    block_help = "of the task phrases: masked items of corpora"
    baselines = {"popularity": popularity}
    in_order = True

    def takes(self, entry: TaskEntry) -> bool:
        return False  # the kind's block has its corpora

    def find_in(self, source: Source, task: Task) -> None:
        """None, since the task is made of corpora."""

    def locate(self, task: Task, sources: Sequence[Source]) -> LocatedPhrases:
        """The corpora of the kind's block, each in the first source that has it."""
        return LocatedPhrases(task, tuple(locate_corpus(name, sources) for name in protocol_of(task).corpora))

    def files_of(self, task: Task) -> str:
        return "corpora/NAME/*.parquet"

    def checked_block(self, block: Strict, base: Path) -> Strict:
        """The block with the path of its vocabulary, where that is a file.

        Raises InputError for a missing one, before a request to the hub.
        """
        assert isinstance(block, PhrasesBlock)
        if block.vocabulary is None:
            return block
        path = base / Path(block.vocabulary).expanduser()
        if path.exists():
            return block.model_copy(update={"vocabulary": str(path)})
        if path.suffix or block.vocabulary.startswith((".", "/", "~")):
            raise InputError(
                f"{NAME}.vocabulary: no such file {block.vocabulary!r}; it is relative to the experiment file, or a "
                "hub name"
            )
        return block

    def cases(self, data: LinkSet, split: str) -> HiddenPhrases:
        from hashbench.data.tasks.phrase_batches import HiddenPhrases

        block = protocol_of(data.task)
        limit = block.test_sequences if split == "test" else block.validation_sequences
        return HiddenPhrases(data, split, block, limit)

    def batches(self, data: LinkSet, codes: np.ndarray, settings: ItemSettings) -> PhraseData:
        from hashbench.data.tasks.phrase_batches import PhraseData

        return PhraseData(data, codes, settings)

    def row_length(self, block: PhrasesBlock) -> RowLength:
        return RowLength("sequence_items", block.sequence_items, 2 + block.next_sentence)

    def next_sentence(self, block: PhrasesBlock) -> bool:
        return block.next_sentence


KIND = CorpusPhrases()
PHRASES = Task(
    name=NAME,
    kind=KIND,
    text=("text",),
    label="items",
    metrics=METRICS,
    select_metric=METRICS[0],
    report_splits=("test",),
)
TASKS = [PHRASES]
