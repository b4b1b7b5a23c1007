"""Hidden items of corpora (Superbloom, section 4): word pieces, words and pairs of words of documents."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from hashbench.common.errors import InputError
from hashbench.data.sources.sources import Source, locate_corpus
from hashbench.data.tasks.base import Task
from hashbench.data.tasks.blocks import Beams, Strict, TaskEntry
from hashbench.data.tasks.item_baselines import popularity
from hashbench.data.tasks.items import METRICS, ItemKind, LinkSet, RowLength, protocol_of
from hashbench.data.tasks.phrases import NAME, LocatedPhrases

if TYPE_CHECKING:
    from hashbench.data.tasks.phrase_batches import HiddenPhrases, PhraseData


class PhrasesBlock(Strict):
    """How a corpus becomes items that are hidden and predicted; the same for all models of an experiment."""

    corpora: tuple[str, ...] = Field(
        default=("wikipedia", "bookcorpus"),
        min_length=1,
        description="corpora, read in this order: names, or paths of own files as texts/*.txt (relative to the file)",
    )
    max_documents: int | None = Field(
        default=None,
        gt=0,
        description="read only the first documents of each corpus; null: all",
    )
    vocabulary: str | None = Field(
        default=None,
        min_length=1,
        description=(
            "word pieces of a vocabulary file or hub name (bert-base-uncased); null: trained on the training documents"
        ),
    )
    vocabulary_size: int = Field(
        default=30_522,
        ge=300,
        description="rows of a trained vocabulary of word pieces, specials included",
    )
    items: int = Field(
        default=1_000_000,
        gt=0,
        description="items in all: every word piece, then the most frequent words and pairs of words from one list",
    )
    sequence_items: int = Field(default=128, ge=4, description="items of a sequence at most, special ones not counted")
    next_sentence: bool = Field(
        default=True,
        description=(
            "sequences in two segments, the second one followed the first or is of another document, and a head that "
            "tells which, as in BERT; false: one segment"
        ),
    )
    test_share: float = Field(
        default=0.1,
        gt=0,
        lt=1,
        description="share of the documents that are held out for testing",
    )
    validation_share: float = Field(
        default=0.1,
        gt=0,
        lt=1,
        description="share of the remaining documents by which the best evaluation is chosen",
    )
    split_seed: int = Field(default=0, ge=0, description="of the held-out documents and of what is hidden in them")
    validation_sequences: int | None = Field(
        default=100,
        gt=0,
        description=(
            "sequences of an evaluation during training, each with all its hidden items; null: all of validation"
        ),
    )
    test_sequences: int | None = Field(
        default=2_000,
        gt=0,
        description="sequences of the test, each with all its hidden items; null: all",
    )
    beams: Beams = (1, 5, 10, 20, 50, 100)


class CorpusPhrases(ItemKind):
    """Items stand in the order of a text; a row is a sequence of a document."""

    name = NAME
    block = PhrasesBlock
    block_help = "of the task phrases: masked items of corpora"
    baselines = {"popularity": popularity}
    in_order = True

    def batches(self, *arguments: Any, **options: Any) -> PhraseData:
        from hashbench.data.tasks.phrase_batches import PhraseData

        return PhraseData(*arguments, **options)

    def takes(self, entry: TaskEntry) -> bool:
        return False  # its corpora stand in the kind's block

    def find_in(self, source: Source, task: Task) -> None:
        """None: it is made of corpora."""

    def locate(self, task: Task, sources: Sequence[Source]) -> LocatedPhrases:
        """The corpora of the kind's block, each in the first source that has it."""
        return LocatedPhrases(task, tuple(locate_corpus(name, sources) for name in protocol_of(task).corpora))

    def files_of(self, task: Task) -> str:
        return "corpora/NAME/*.parquet"

    def checked_block(self, block: Strict, base: Path) -> Strict:
        """The block with the path of its vocabulary, where that is a file.

        Raises InputError for a missing one, before the hub is asked for it.
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
