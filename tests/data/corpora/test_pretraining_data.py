"""What masked language modelling predicts where codes are no rows: the row of a type in a vocabulary of its own."""

from __future__ import annotations

import numpy as np
import pytest

from hashbench.data.corpora.pretraining_data import PretrainingData
from hashbench.models.coders.base import type_codes
from hashbench.models.coders.rows import Vocabulary
from hashbench.models.coders.signature import Signature
from hashbench.models.objectives.mlm import OBJECTIVE
from hashbench.models.objectives.mlm_signatures import OBJECTIVE as BY_SIGNATURES


@pytest.mark.e2e
def test_labels_are_rows_of_the_vocabulary(prepared) -> None:
    made = prepared("eelbert-tiny")
    outputs = Vocabulary()
    outputs.fit_pieces(made.corpus.tokenizer.pieces)
    codes = type_codes(made.coder, made.corpus.types, made.folder / "codes")
    data = PretrainingData(
        made.corpus, codes, objective=OBJECTIVE, outputs=outputs, template=made.spec.text.template,
        batch_size=8, sequence_length=16, seed=0,
    )  # fmt: skip
    batch = next(iter(data.train_dataloader()))
    assert batch.codes.shape[1] == 16 and batch.codes.is_floating_point()
    row_of = {piece: 5 + i for i, piece in enumerate(made.corpus.tokenizer.pieces)}  # five rows are special tokens
    true_ids, strings = data.with_specials(batch.row_ids.numpy()), made.corpus.types.strings()
    labelled = np.argwhere(batch.labels.numpy() != -100)
    assert len(labelled) > 3
    for row, column in labelled:
        string = strings[true_ids[row, column]]
        assert batch.labels[row, column] == (row_of[string] if string in row_of else 3)


def test_codes_that_are_rows_are_predicted_as_they_are(prepared) -> None:
    made = prepared("bert-tiny")
    batch = next(iter(made.pretraining().train_dataloader()))
    labels = batch.labels[batch.labels != -100]
    assert len(labels) and int(labels.min()) >= 3 and int(labels.max()) < made.coder.num_rows


@pytest.mark.e2e
@pytest.mark.parametrize("model", ["bert-tiny", "eelbert-tiny"])
def test_signatures_of_the_true_types_are_predicted_whatever_the_codes(prepared, model: str) -> None:
    made, outputs = prepared(model), Signature(399, 4)
    codes = type_codes(made.coder, made.corpus.types, made.folder / "codes")
    data = PretrainingData(
        made.corpus, codes, objective=BY_SIGNATURES, outputs=outputs, template=made.spec.text.template,
        batch_size=8, sequence_length=16, seed=0,
    )  # fmt: skip
    batch = next(iter(data.train_dataloader()))
    true_ids, strings = data.with_specials(batch.row_ids.numpy()), made.corpus.types.strings()
    labelled = batch.labels.numpy() != -100
    expected = outputs.encode([strings[number] for number in true_ids[labelled]])
    assert labelled.sum() > 3
    assert np.array_equal(batch.label_codes.numpy()[batch.labels.numpy()[labelled]], expected)
    assert len(batch.label_codes) == len(np.unique(true_ids[labelled]))
    assert np.array_equal(data.candidates(), outputs.encode(strings))
