"""Batches of the sentences of minimal pairs, in the rows by which a pre-training objective scores them.

Each sentence is scored once, in however many pairs it is and however it is written, so that equal ones have equal
scores.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hashbench.common.errors import InputError
from hashbench.data.sources.batching import Collator, PretrainingObjective, Rows, encode_rows, with_targets
from hashbench.data.tasks.encoding import encode_task
from hashbench.data.tasks.kinds.minimal_pairs import SPLIT, PairData
from hashbench.models.coders.base import Coder, type_codes
from hashbench.models.embeddings.base import NO_LABEL, Batch, Template
from hashbench.models.text.base import Tokenizer
from hashbench.models.text.unicode import offsets_from

TOKENS = 16_384  # of a batch, padding included
PART = re.compile(r"\s*(?:\w+|[^\w\s]+)")  # a word or a run of punctuation, with the white space before it


class ScoredBatch(NamedTuple):
    """A batch with labels (B, L), and the sentence of each label, row by row."""

    batch: Batch
    sentences: np.ndarray  # (n,), as many as there are labels


class PairSentences:
    """The distinct sentences of minimal pairs under a tokenizer, and the two that each pair holds."""

    def __init__(
        self,
        data: PairData,
        tokenizer: Tokenizer,
        coder: Coder,
        *,
        objective: PretrainingObjective,
        template: Template,
        max_length: int,
        folder: Path,
        outputs: Coder | None = None,
    ) -> None:
        """`coder` is fitted; `outputs`: the coder whose codes are predicted, None: the codes are.

        Raises InputError for a sentence without a token.
        """
        sentences = data.by_sentence()
        encoded = encode_task(sentences, tokenizer, folder / "tasks")
        self.codes = type_codes(coder, encoded.types, folder / "codes")
        self._template, self._objective = template, objective
        self._targets = self.codes if outputs is None else outputs.encode_types(encoded.types)  # (types, k)
        rows = encode_rows(encoded.splits[SPLIT], template, max_length)
        numbers: dict[bytes, int] = {}  # ids of a row -> its number
        texts: list[str] = []
        number_of = np.empty(len(rows), np.int64)
        for row, text in enumerate(sentences.splits[SPLIT].texts[0]):
            key = rows.ids[rows.offsets[row] : rows.offsets[row + 1]].tobytes()
            number_of[row] = numbers.setdefault(key, len(numbers))
            if number_of[row] == len(texts):
                texts.append(text)
        self.good, self.bad = np.split(number_of, 2)  # (pairs,) numbers of sentences
        self._rows = Rows(np.frombuffer(b"".join(numbers), np.int32), offsets_from([len(key) // 4 for key in numbers]))
        self.n_tokens = np.add.reduceat((self._rows.ids >= 0).astype(np.int64), self._rows.offsets[:-1])  # (sentences,)
        if (self.n_tokens == 0).any():
            empty = texts[int(np.flatnonzero(self.n_tokens == 0)[0])]
            raise InputError(f"task {data.task.name!r}: {empty[:40]!r} has no token under tokenizer {tokenizer.kind}")
        self.apart = 0  # sentences where it is not known which tokens make one word
        self._words = Rows(np.full(len(self._rows.ids), -1, np.int32), self._rows.offsets)
        if objective.targets is not None:
            self._number_words(texts, tokenizer, encoded.types.strings())

    def __len__(self) -> int:
        return len(self._rows)

    def _number_words(self, texts: list[str], tokenizer: Tokenizer, strings: list[str]) -> None:
        """Numbers the words of each sentence at the places of its tokens."""
        of_part: dict[str, list[str]] = {}
        for number, text in enumerate(texts):
            place = np.arange(self._rows.offsets[number], self._rows.offsets[number + 1])
            place = place[self._rows.ids[place] >= 0]
            parts = PART.findall(text)
            for part in parts:
                if part not in of_part:
                    of_part[part] = tokenizer.tokenize(part)
            tokens = [token for part in parts for token in of_part[part]]
            words = np.repeat(np.arange(len(parts)), [len(of_part[part]) for part in parts])
            if tokens[: len(place)] != [strings[of] for of in self._rows.ids[place]]:
                words = np.arange(len(place))  # each token by itself
                self.apart += 1
            self._words.ids[place] = words[: len(place)]

    def batches(self) -> Iterator[ScoredBatch]:
        """Batches with labels in which every token of every sentence is scored once, short sentences first."""
        assert self._objective.probe is not None  # the plan has paired it
        collate = Collator(self.codes, self._template)
        order = np.argsort(self._rows.lengths, kind="stable")
        at = 0
        while at < len(order):
            longest = int(self._rows.lengths[order[at]])
            chosen = order[at : at + max(1, TOKENS // (longest * (longest if self._objective.targets else 1)))]
            at += len(chosen)
            multiple = self._template.pad_multiple
            ids = self._rows.padded(chosen, collate.pad, multiple=multiple)
            words = self._words.padded(chosen, -1, multiple=multiple)
            probed = self._objective.probe(ids, words)
            for start in range(0, len(probed.ids), size := max(1, TOKENS // ids.shape[1])):
                part = slice(start, start + size)
                labels = probed.labels[part]
                labelled, _ = np.nonzero(labels != NO_LABEL)
                sentences = chosen[probed.texts[part]]
                kind = self._objective.targets
                targets = with_targets(labels, self._targets if kind else None, kind == "signatures")
                batch = collate(probed.ids[part], row_ids=sentences, **targets)
                yield ScoredBatch(batch, sentences[labelled])
