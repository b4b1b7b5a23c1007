"""Data of a pre-training: corrupted rows of a prepared corpus, or of texts read as a stream.

Texts that are never prepared are read as a stream: documents are laid end to end and cut into rows, as in a prepared
corpus. A block of rows is held in memory: its rows are shuffled among themselves, by a function of (seed, epoch,
block), and its types are all that random replacements are drawn from. So everything a batch holds is a function of the
texts, the seed and the position of its block, and a training goes on exactly at the batch where it was interrupted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice

import numpy as np

from hashbench.common.errors import InputError
from hashbench.common.measured import MetricRow
from hashbench.data.corpora.corpus import Corpus
from hashbench.data.sources.batching import Collator, PretrainingObjective, evaluation_batches, framed, with_targets
from hashbench.data.sources.documents import CorpusShard
from hashbench.data.sources.loader import LoadedData, Make, TrainingData, ahead
from hashbench.models.coders.base import Coder
from hashbench.models.embeddings.base import Batch, Template
from hashbench.models.text.base import Tokenizer
from hashbench.models.text.unicode import in_chunks

# Rows of a block, about: whole batches. Part of what streaming means, since it decides order and replacements
BLOCK_ROWS = 4_096
CHUNK_CHARACTERS = 250_000  # read and tokenized at a time
STREAMED = 31  # stream of random numbers
# One in so many rows of words is never trained on, and in a large corpus at most so many rows in all
HELD_OUT_EVERY, MOST_HELD_OUT = 100, 2_000
# Types among which the likeliest word of a held-out place is looked for
MOST_CANDIDATES = 20_000
# One seed for the held-out rows of all models and seeds, so that all losses are measured on the same corruption
HELD_OUT_SEED = 1234


class PretrainingData(TrainingData):
    """Batches of corrupted sequences of a prepared corpus. `batch_size` counts the rows of all processes.

    Of a corpus in rows of words some rows are held out, and rows, batches and order are functions of the texts and the
    seed alone: equal for every tokenizer. Batches are sorted by the size of texts, not by tokens.
    """

    def __init__(
        self,
        corpus: Corpus,
        codes: np.ndarray,
        *,
        objective: PretrainingObjective,
        template: Template,
        batch_size: int,
        sequence_length: int,
        seed: int,
        objective_args: Mapping[str, object] | None = None,
        outputs: Coder | None = None,
        rank: int = 0,
        world_size: int = 1,
        prefetch: int = 2,
    ) -> None:
        """`codes` (n_types, c): of the corpus' types. `outputs`: the coder whose codes are predicted, where labels are
        types; None: the codes are.
        """
        super().__init__(batch_size=batch_size, seed=seed, rank=rank, world_size=world_size, prefetch=prefetch)
        self.corpus, self.codes = corpus, codes
        self._objective = objective
        # (n_types, k)
        self._targets = codes if outputs is None else outputs.encode_types(corpus.types)
        self._arguments = dict(objective_args or {})
        self.template, self._n_specials = template, len(template.single) - 1
        # The same memory without the cost of a memmap's every slice
        self._ids = np.asarray(corpus.ids)
        self._sequence_length = sequence_length
        # Rows that are trained on come first, those held out are numbered behind them
        starts, ends = corpus.rows(sequence_length, self._n_specials)
        held_out = np.zeros(len(starts), bool)
        if corpus.sizes is not None:
            held_out[1 :: max(HELD_OUT_EVERY, len(starts) // MOST_HELD_OUT)] = True
        order = np.argsort(held_out, kind="stable")
        self.n_trained = len(starts) - int(held_out.sum())
        self.starts, self.ends = starts[order], ends[order]
        self._sizes = None if corpus.sizes is None else corpus.sizes[order]

    def row_lengths(self) -> np.ndarray:
        """Tokens of each sequence (n,), special ones not counted."""
        return (self.ends - self.starts)[: self.n_trained]

    def row_sizes(self) -> np.ndarray:
        """The numbers (n,) by which sequences are sorted: their tokens, or the sizes of rows of words."""
        return self.row_lengths() if self._sizes is None else self._sizes[: self.n_trained]

    @property
    def bucketed(self) -> bool:
        """False for several rows of one length, the last one aside, since sorting by length would change nothing."""
        sizes = self.row_sizes()
        return len(sizes) < 2 or bool((sizes[:-1] != sizes[0]).any())

    def training_maker(self) -> Make:
        """The function that makes a batch of corrupted sequences from row numbers (B,) and an epoch."""
        return self._maker(self.seed)

    def held_out_batches(self) -> Iterator[Batch]:
        """Batches of the held-out rows, none for a packed corpus; their corruption is the same for every seed."""
        make = self._maker(HELD_OUT_SEED)
        for rows in evaluation_batches((self.ends - self.starts)[self.n_trained :], self.batch_size):
            yield make(self.n_trained + rows, 0)

    def candidates(self) -> np.ndarray | None:
        """Codes (C, k) of the most frequent types first, among which a predicted word is looked for; None where labels
        are no codes."""
        return self._targets[:MOST_CANDIDATES] if self._objective.targets == "signatures" else None

    def tokens_read(self, steps: int) -> int:
        """The tokens of the first batches of a training, special ones included and padding not."""
        lengths = self.row_lengths() + self._n_specials
        epochs, rest = divmod(steps, self.steps_per_epoch)
        read = epochs * int(lengths.sum())
        return read + sum(int(lengths[rows].sum()) for rows in self._plan(epochs)[:rest])

    def facts(self) -> list[MetricRow]:
        """For rows of words the share of tokens that is cut off, and the positions that are trained; else nothing."""
        if self._sizes is None:
            return []
        facts = self.corpus.row_facts(self._sequence_length, self._n_specials)
        return [MetricRow("tokens_cut", facts.cut), MetricRow("positions_trained", facts.trained)]

    def _maker(self, seed: int) -> Make:
        collate = Collator(self.codes, self.template)
        kind = self._objective.targets
        targets = None if kind is None else np.asarray(self._targets)

        def make(rows: np.ndarray, epoch: int) -> Batch:
            """Rows (B,) -> a batch of corrupted ids (B, L) with the objective's labels (B, L)."""
            whole = self.with_specials(rows)  # (B, L)
            ids, labels = self._objective.corrupt(
                whole, rows, seed=seed, epoch=epoch, n_types=len(self.corpus.types), **self._arguments
            )
            return collate(ids, row_ids=rows, **with_targets(labels, targets, kind == "signatures"))

        return make

    def with_specials(self, rows: np.ndarray) -> np.ndarray:
        """Sequences (B,) with their special tokens, padded, before any corruption: ids (B, L) int32."""
        bounds = zip(self.starts[rows].tolist(), self.ends[rows].tolist(), strict=True)
        return framed([self._ids[start:end] for start, end in bounds], self.template)


@dataclass(frozen=True)
class StreamPlace:
    """The position of a training in its corpora."""

    steps: int = 0  # batches handed out
    batch: int = 0  # of the block
    block: int = 0  # of this pass
    epoch: int = 0  # passes before
    # Where the block begins: shard, document in the shard, token in the document.
    shard: int = 0
    document: int = 0
    token: int = 0


@dataclass(frozen=True)
class RowBlock:
    """Consecutive rows of the corpora, with the codes of their types."""

    ids: np.ndarray  # (tokens,) int32 into the block's types
    codes: np.ndarray  # (types, c)
    # Where the next block of this pass begins; None: this was the last.
    after: StreamPlace | None
    targets: np.ndarray | None = (
        None  # (types, k): what is predicted of each type, where that is its code by another coder
    )


class RowStream:
    """The rows of corpora, block by block, from any position on."""

    def __init__(
        self,
        shards: Sequence[CorpusShard],
        tokenizer: Tokenizer,
        coder: Coder,
        *,
        row_tokens: int,
        rows: int,
        outputs: Coder | None = None,
    ) -> None:
        """Blocks of `rows` rows of `row_tokens` tokens, special ones not counted. `outputs`: as in `StreamedData`."""
        self._shards, self._tokenizer, self._coder, self._outputs = shards, tokenizer, coder, outputs
        self.row_tokens, self.rows = row_tokens, rows

    def blocks(self, place: StreamPlace) -> Iterator[RowBlock]:
        """The blocks of one pass over the corpora from a position on. The last may be shorter."""
        waiting: deque[tuple[int, int, str]] = deque()  # documents behind the end of the block before
        documents = self._documents(place)
        at: StreamPlace | None = place
        while at is not None:
            block = self._block(at, waiting, documents)
            if len(block.ids):
                yield block
            at = block.after

    def _documents(self, place: StreamPlace) -> Iterator[tuple[int, int, str]]:
        """Number of the shard, number in the shard, and text of each document from a position on."""
        for number in range(place.shard, len(self._shards)):
            first = place.document if number == place.shard else 0
            for document, text in enumerate(self._shards[number].texts(first), start=first):
                yield number, document, text

    def _block(
        self, place: StreamPlace, waiting: deque[tuple[int, int, str]], documents: Iterator[tuple[int, int, str]]
    ) -> RowBlock:
        needed = place.token + self.rows * self.row_tokens
        interner = self._tokenizer.interner()
        read: list[tuple[int, int, str]] = []
        pieces, lengths = [np.zeros(0, np.int32)], [np.zeros(0, np.int64)]
        n_tokens = 0

        def texts() -> Iterator[str]:
            while document := waiting.popleft() if waiting else next(documents, None):
                read.append(document)
                yield document[2]

        chunks = in_chunks(texts(), CHUNK_CHARACTERS)
        while n_tokens <= needed and (chunk := next(chunks, None)):
            tokenized = interner.add(chunk)
            pieces.append(tokenized.ids)
            lengths.append(np.diff(tokenized.offsets))
            n_tokens += len(tokenized.ids)
        table, remap = interner.finish()
        provisional = np.concatenate(pieces)[place.token : needed]
        if not len(provisional):
            return RowBlock(provisional, np.zeros((0, self._coder.width), self._coder.dtype), None)
        types, ids = np.unique(remap[provisional], return_inverse=True)  # (types,), (tokens,)
        ends = np.cumsum(np.concatenate(lengths))  # (documents,)
        cut = int(np.searchsorted(ends, needed, side="right"))  # the document in which the next block begins
        after = None
        if n_tokens > needed:
            waiting.extendleft(reversed(read[cut:]))
            shard, document, _ = read[cut]
            token = needed - (int(ends[cut - 1]) if cut else 0)
            after = replace(place, batch=0, block=place.block + 1, shard=shard, document=document, token=token)
        targets = None if self._outputs is None else self._outputs.encode_types(table)[types]
        return RowBlock(ids.astype(np.int32), self._coder.encode_types(table)[types], after, targets)


class StreamedData(LoadedData):
    """Corrupted rows of corpora that are read while a model is trained."""

    def __init__(
        self,
        shards: Sequence[CorpusShard],
        tokenizer: Tokenizer,
        coder: Coder,
        *,
        objective: PretrainingObjective,
        template: Template,
        batch_size: int,
        sequence_length: int,
        seed: int,
        steps: int,
        epochs: int,
        objective_args: Mapping[str, object] | None = None,
        outputs: Coder | None = None,
        rank: int = 0,
        world_size: int = 1,
        prefetch: int = 2,
    ) -> None:
        """`outputs`: the coder whose codes are predicted, if labels are types. `batch_size`: rows of all processes.
        `steps`: batches in all, read in at most `epochs` passes."""
        super().__init__(batch_size=batch_size, seed=seed, rank=rank, world_size=world_size, prefetch=prefetch)
        self.template = template
        rows = max(1, BLOCK_ROWS // batch_size) * batch_size
        row_tokens = sequence_length - (len(template.single) - 1)
        self.stream = RowStream(shards, tokenizer, coder, row_tokens=row_tokens, rows=rows, outputs=outputs)
        self.steps, self._epochs = steps, epochs
        self._objective, self._arguments = objective, dict(objective_args or {})

    def train_dataloader(self) -> StreamLoader:
        """All batches of the training."""
        return StreamLoader(self)

    def longest_batch(self) -> Batch:
        """The first batch (B, L), as long as any other, since all rows but the last have one length."""
        return next(iter(self.batches(StreamPlace())))[1]

    @property
    def bucketed(self) -> bool:
        """False, since packed rows have one length and need no sorting."""
        return False

    def batches(self, place: StreamPlace) -> Iterator[tuple[StreamPlace, Batch]]:
        """The batches from a position in the corpora on, each with the position behind it.

        Raises InputError where the corpora hold no token, or end before the last step.
        """
        while place.epoch < self._epochs:
            first = place
            for block in self.stream.blocks(first):
                for behind, batch in self._of_block(place, block):
                    place = behind
                    yield place, batch
            if place == first and place.block == place.batch == 0:
                raise InputError("pretrain.corpora: there is no token in them; name others")
            place = StreamPlace(steps=place.steps, epoch=place.epoch + 1)
        what = f"the corpora end after {place.steps:,} steps, {self.steps:,} are asked for"
        raise InputError(f"pretrain.streaming: {what}; lower steps, or raise max_epochs ({self._epochs})")

    def _of_block(self, place: StreamPlace, block: RowBlock) -> Iterator[tuple[StreamPlace, Batch]]:
        """The batches of a block from number `place.batch` on, each with the position behind it."""
        starts = np.arange(0, len(block.ids), self.stream.row_tokens)
        order = np.random.RandomState([self.seed, place.epoch, place.block, STREAMED]).permutation(len(starts))
        collate = Collator(block.codes, self.template)
        first = place.block * self.stream.rows  # of the pass
        for at in range(place.batch * self.batch_size, len(order), self.batch_size):
            rows = order[at : at + self.batch_size]
            bodies = [block.ids[start : start + self.stream.row_tokens] for start in starts[rows]]
            ids = framed(bodies, self.template)
            corrupted, labels = self._objective.corrupt(
                ids, first + rows, seed=self.seed, epoch=place.epoch, n_types=len(block.codes), **self._arguments
            )
            batch = collate(corrupted, row_ids=first + rows, **with_targets(labels, block.targets, by_code=True))
            place = replace(place, steps=place.steps + 1, batch=place.batch + 1)
            last = at + self.batch_size >= len(order)
            if last and block.after is not None:
                place = replace(block.after, steps=place.steps)
            yield place, batch


class StreamLoader:
    """The batches of a whole training; its state says which comes next, and where in the corpora."""

    def __init__(self, data: StreamedData) -> None:
        self._data, self.place = data, StreamPlace()

    def __len__(self) -> int:
        """Batches of the whole training, whatever the state."""
        return self._data.steps

    def __iter__(self) -> Iterator[Batch]:
        remaining = self._data.steps - self.place.steps
        for place, batch in islice(ahead(self._data.batches(self.place), self._data.prefetch), remaining):
            # Before the yield, as in `BatchLoader`
            self.place = place
            yield batch

    def state_dict(self) -> dict[str, int]:
        """The position in the corpora behind the last batch handed out; batches made ahead do not count."""
        return asdict(self.place)

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Sets the position in the corpora from which the next iteration continues."""
        self.place = StreamPlace(**state)
