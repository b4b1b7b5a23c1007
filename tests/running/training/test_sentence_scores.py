"""Both scores of sentences equal plain Python, whatever the batch; stops and scores that are no numbers end it."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
import torch

from hashbench.common.measured import Paradigms
from hashbench.data.sources.batching import Collator
from hashbench.data.tasks import pair_batches
from hashbench.data.tasks.encoding import encode_task
from hashbench.data.tasks.kinds.minimal_pairs import SPLIT, PairData, pair_task
from hashbench.data.tasks.pair_batches import PairSentences
from hashbench.data.tasks.text_data import Split
from hashbench.models.coders.base import make_coder
from hashbench.models.coders.rows import Vocabulary
from hashbench.models.embeddings.base import MASK_ID
from hashbench.models.embeddings.registry import find_model
from hashbench.models.objectives.base import objective_of
from hashbench.models.text.base import Tokenizer, make_tokenizer
from hashbench.running.training.machine import Interrupted, Machine
from hashbench.running.training.model import build_model, make_head
from hashbench.running.training.module import NotFinite
from hashbench.running.training.pretraining import sentence_scores
from tests.oracles.sentence_scores import acceptability, pseudo_log_likelihood

GOOD = ["The cats sleep.", "Who does Derek hug?", "Some dogs weren't barking loudly!", "It rains.", "She sees herself"]
BAD = ["The cats sleeps.", "Who Derek does hug?", "Some dogs wasn't barking loudly!", "It rain.", "She sees himself"]
MODELS = ["hashformer-md-proj", "bert-sr", "bert-mlm", "eelbert-tiny"]


class Small:
    """A small model with random weights, the sentences of five pairs, and the model as the oracle sees it."""

    def __init__(self, name: str, folder: Path, tokenizer: Tokenizer | None = None) -> None:
        self.spec, self.folder = find_model(name).small(), folder / "tasks"
        text, code = self.spec.text, self.spec.code
        self.tokenizer = tokenizer or make_tokenizer(text.tokenizer, **text.args)
        if self.tokenizer.needs_training:
            self.tokenizer.train(GOOD * 4, 300)
        self.coder = make_coder(code.coder, **code.args)
        self.coder.fit_pieces(self.tokenizer.pieces)
        self.objective = objective_of(self.spec)
        self.outputs = Vocabulary() if self.objective.targets == "rows" and self.coder.width > 1 else None
        if self.outputs is not None:
            self.outputs.fit_pieces(self.tokenizer.pieces)
        split = Split((GOOD, BAD), np.zeros(len(GOOD), np.int64))
        self.data = PairData(pair_task("toy"), {SPLIT: split}, name, "", "own", (), Paradigms(("all",), {}, (False,)))
        self.sentences = PairSentences(
            self.data,
            self.tokenizer,
            self.coder,
            objective=self.objective,
            template=self.spec.text.template,
            max_length=64,
            folder=folder,
            outputs=self.outputs,
        )
        rows = (self.outputs or self.coder).num_rows
        self.model = build_model(self.spec, "tiny", seed=0, vocabulary_rows=rows).eval()
        self.head = make_head(self.model, self.objective.name).eval()

    def logits(self, ids: list[int]) -> list[list[float]]:
        """The scores at every place of one sentence."""
        collate = Collator(self.sentences.codes, self.spec.text.template)
        batch = collate(np.array([ids], np.int32), row_ids=np.zeros(1, np.int64))
        with torch.inference_mode():
            states = self.model(batch)
            if self.objective.name == "shuffle_random":
                return self.head(states)[0].double().tolist()
            matrix = self.head.matrix if self.head.matrix is not None else self.model.embedding.output_matrix()
            return self.head(states, matrix)[0].double().tolist()

    def expected(self, number: int) -> tuple[float, float, float, float]:
        """What plain Python says of a sentence by its number."""
        rows, words = self.sentences._rows, self.sentences._words
        part = slice(rows.offsets[number], rows.offsets[number + 1])
        ids = rows.ids[part].tolist()
        if self.objective.name == "shuffle_random":
            return acceptability(ids, self.logits)
        table = self.sentences.codes
        if self.outputs is not None:
            table = self.outputs.encode_types(encode_task(self.data.by_sentence(), self.tokenizer, self.folder).types)
        row_of = table[:, 0].tolist()
        return pseudo_log_likelihood(ids, words.ids[part].tolist(), row_of.__getitem__, MASK_ID, self.logits)


@pytest.mark.parametrize("tokens", [16_384, 40])
@pytest.mark.parametrize("name", MODELS)
def test_scores_of_ten_sentences_equal_plain_python(
    name: str, tokens: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pair_batches, "TOKENS", tokens)
    small = Small(name, tmp_path)
    scores = sentence_scores(small.model, small.head, small.sentences, Machine(tmp_path, device="cpu"))
    assert scores.shape == (10, 4)
    for number in (*small.sentences.good, *small.sentences.bad):
        assert scores[number] == pytest.approx(small.expected(number), abs=1e-4)


def test_pieces_of_one_word_are_numbered_alike_and_punctuation_is_a_word_of_its_own(tmp_path: Path) -> None:
    pieces = make_tokenizer("wordpieces")
    pieces.train(GOOD * 4, 45)
    small = Small("bert-mlm", tmp_path, pieces)
    number = int(small.sentences.good[2])
    rows, words = small.sentences._rows, small.sentences._words
    part = slice(rows.offsets[number], rows.offsets[number + 1])
    strings = pieces.tokenize(GOOD[2])
    joined: dict[int, str] = {}
    for piece, word in zip(strings, words.ids[part][rows.ids[part] >= 0].tolist(), strict=True):
        joined[word] = joined.get(word, "") + piece.removeprefix("##")
    assert list(joined.values()) == ["some", "dogs", "weren", "'", "t", "barking", "loudly", "!"]
    assert len(strings) > len(joined) and small.sentences.apart == 0


def test_one_sentence_in_two_writings_is_scored_once_and_equal(tmp_path: Path) -> None:
    small = Small("hashformer-md-proj", tmp_path)
    texts = ["It rains."], ["it  RAINS."]
    data = PairData(small.data.task, {SPLIT: Split(texts, np.zeros(1, np.int64))}, "twice", "", "own")
    sentences = PairSentences(
        data, small.tokenizer, small.coder, objective=small.objective, template=small.spec.text.template,
        max_length=64, folder=tmp_path,
    )  # fmt: skip
    assert len(sentences) == 1 and sentences.good == sentences.bad == 0


def test_a_stop_and_a_score_that_is_no_number_end_it(tmp_path: Path) -> None:
    small, stop = Small("hashformer-md-proj", tmp_path), threading.Event()
    stop.set()
    with pytest.raises(Interrupted):
        sentence_scores(small.model, small.head, small.sentences, Machine(tmp_path, device="cpu", should_stop=stop))
    torch.nn.init.constant_(next(small.head.parameters()), float("nan"))
    with pytest.raises(NotFinite, match="no finite number"):
        sentence_scores(small.model, small.head, small.sentences, Machine(tmp_path, device="cpu"))
