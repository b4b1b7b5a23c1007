"""data/tasks/phrase_batches.py: sequences, segments, hidden items and batches of a corpus as items."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from hashbench.data.tasks.item_batches import PADDING, ItemSettings
from hashbench.data.tasks.items import LinkSet
from hashbench.data.tasks.kinds.phrases import KIND, PHRASES
from hashbench.data.tasks.phrase_batches import HiddenPhrases, PhraseData, pairs_with_specials, sequences
from hashbench.data.tasks.phrases import PhrasesBlock
from hashbench.models.embeddings.base import MASK_ID, NO_LABEL, PAD, SPECIALS, Template
from hashbench.models.objectives.entities import EntityObjective, corrupt
from hashbench.models.text.types import TokenizedTexts, TypeTable
from hashbench.scores.rankings import PAGE, RANK
from tests.oracles.superbloom import predicted

STOP, N_ITEMS = 3, 200  # item 3 is the full stop
# Every item stays; labels are made all the same
NOTHING = partial(corrupt, objective=EntityObjective(mask_share=0.0, random_share=0.0))


def documents(**protocol: object) -> LinkSet:
    """Twenty documents of 5 to 60 items; document d holds the items 10 d + 4 ... 10 d + 13, and full stops."""
    random = np.random.RandomState(0)
    pages = [random.randint(0, 10, random.randint(5, 61)) + 10 * d % 180 + 4 for d in range(20)]
    for page in pages:
        page[random.randint(0, len(page), 3)] = STOP
    offsets = np.cumsum([0, *map(len, pages)])
    strings = {("." if i == STOP else f"w{i:03d}"): N_ITEMS - i for i in range(N_ITEMS)}
    settings = {"sequence_items": 16, "validation_sequences": None, "test_sequences": None} | protocol
    return LinkSet(
        replace(PHRASES, protocol=PhrasesBlock(**settings)),  # type: ignore[arg-type]
        TypeTable.from_counts(strings),
        TokenizedTexts(np.concatenate(pages).astype(np.int32), offsets),
        {"train": np.arange(14), "validation": np.arange(14, 17), "test": np.arange(17, 20)},
        "fingerprint",
        "made up",
        "folder",
    )


def data_of(data: LinkSet, **changes: object) -> PhraseData:
    codes = np.arange(N_ITEMS)[:, None] * 2 + np.arange(2)  # (N, 2)
    settings = ItemSettings(partial(corrupt, objective=EntityObjective()), Template(), 8, seed=0, prefetch=0)
    return PhraseData(data, codes, replace(settings, **changes))


def items_of(batch, row: int) -> list[int]:
    """Items of a row of a batch, special tokens as -1 - number, padding left out."""
    positions = batch.positions[row].numpy()
    codes = batch.codes[:, 0].numpy() // 2
    return [int(codes[p - len(SPECIALS)]) if p >= len(SPECIALS) else -1 - int(p) for p in positions if p != PAD]


def test_documents_are_cut_one_behind_the_other() -> None:
    found = sequences(np.array([0, 5, 6, 9, 9, 13]), np.array([0, 1, 2, 3, 4]), 4)
    assert found.starts.tolist() == [0, 6, 9] and found.ends.tolist() == [4, 9, 13]  # one item alone is no sequence
    assert found.documents.tolist() == [0, 2, 4]


def test_a_sequence_belongs_to_one_document() -> None:
    data = documents()
    assert set(data.splits) == {"train", "validation", "test"} and all(map(len, data.splits.values()))
    for split, rows in data.splits.items():
        found = sequences(data.pages.offsets, rows, 16)
        assert set(found.documents) == set(rows), split
        assert np.all(found.starts >= data.pages.offsets[found.documents])
        assert np.all(found.ends <= data.pages.offsets[found.documents + 1])
        assert 2 <= (found.ends - found.starts).min() and (found.ends - found.starts).max() == 16


def test_pairs_are_framed_in_order() -> None:
    ids = np.array([[7, 8, 9, 5], [4, 6, PADDING, PADDING]], np.int32)
    complete, places = pairs_with_specials(ids, np.array([1, 1]), Template())
    assert complete.tolist() == [[-1, 7, -3, 8, 9, 5, -3], [-1, 4, -3, 6, -3, -2, -2]]
    assert places[0].tolist() == [1, 3, 4, 5] and places[1, :2].tolist() == [1, 3]


def test_training_rows_are_parted_at_sentences_and_half_go_on_elsewhere() -> None:
    data = documents()
    made = data_of(data, corrupt=NOTHING, batch_size=500)
    follows, at_stop, checked = [], 0, 0
    for _ in range(30):
        batch = next(iter(made.train_dataloader()))
        made.seed += 1
        for row, (number, answer) in enumerate(zip(batch.row_ids.tolist(), batch.follows.tolist(), strict=True)):
            own = data.pages.ids[made.train.starts[number] : made.train.ends[number]].tolist()
            complete = items_of(batch, row)
            cut = complete.index(-3)
            first, second = complete[1:cut], complete[cut + 1 : -1]
            assert complete[0] == -1 and complete[-1] == -3 and first == own[: len(first)]
            assert batch.segments[row, : len(complete)].tolist() == [0] * (cut + 1) + [1] * (len(second) + 1)
            if answer:
                assert second == own[len(first) :]
            else:
                starts = [made.train.starts[i] for i in range(len(made.train))]
                assert any(second == data.pages.ids[s : s + len(second)].tolist() for s in starts)
            follows.append(answer)
            if STOP in own[:-1]:
                checked += 1
                at_stop += first[-1] == STOP
    assert at_stop == checked > 0
    assert 0.45 < np.mean(follows) < 0.65  # a row that draws its own document stays


def test_without_next_sentence_there_is_one_segment() -> None:
    made = data_of(documents(next_sentence=False), corrupt=NOTHING)
    batch = next(iter(made.train_dataloader()))
    assert batch.segments is None and batch.follows is None
    complete = items_of(batch, 0)
    number = int(batch.row_ids[0])
    assert complete[1:-1] == made.ids[made.train.starts[number] : made.train.ends[number]].tolist()


def test_labels_stand_at_their_items() -> None:
    """With nothing replaced, the item in the row is the one to predict, and its m tokens are its codes."""
    made = data_of(documents(), corrupt=NOTHING)
    batch = next(iter(made.train_dataloader()))
    assert len(batch) > 0
    for row in range(len(batch)):
        complete = items_of(batch, row)
        labels = batch.labels[row].numpy()
        places = np.flatnonzero(labels[:, 0] != NO_LABEL)
        assert len(places) == predicted(len(complete) - 3)
        for place in places:
            assert labels[place].tolist() == [2 * complete[place], 2 * complete[place] + 1]


@pytest.mark.parametrize("next_sentence", [True, False])
def test_cases_are_the_hidden_items_in_the_order_of_their_numbers(next_sentence: bool) -> None:
    data = documents(next_sentence=next_sentence)
    made = data_of(data)
    cases, seen = made.cases["test"], []
    for batch in made.case_loader("test"):
        hidden = batch.labels[..., 0].numpy()
        found = hidden[hidden != NO_LABEL] // 2  # row by row
        assert np.array_equal(found, cases.targets[batch.row_ids.numpy()])
        masked = batch.positions.numpy() == -1 - MASK_ID
        assert np.array_equal(masked, hidden != NO_LABEL)  # all of them, and nothing else
        assert batch.follows is None
        seen += batch.row_ids.tolist()
    assert seen == list(range(len(cases))) and set(cases.page_rows) == {17, 18, 19}


def test_cases_do_not_depend_on_the_model_or_its_seed() -> None:
    data = documents()
    half = partial(corrupt, objective=EntityObjective(predict_share=0.5))
    one, other = data_of(data), data_of(data, seed=5, corrupt=half)
    assert np.array_equal(one.cases["test"].targets, other.cases["test"].targets)


def test_the_floor_is_tested_on_the_cases_of_the_models() -> None:
    data = documents(test_sequences=5)
    outputs, cases = KIND.predictions("popularity", data)["test"].outputs, KIND.cases(data, "test")
    expected = data_of(data).cases["test"]
    assert np.array_equal(cases.targets, expected.targets)
    assert np.array_equal(outputs[:, PAGE], expected.page_rows)
    assert np.array_equal(outputs[:, RANK], expected.targets + 1)  # items are numbered by training frequency


def test_a_limit_takes_some_sequences_whole() -> None:
    data = documents()
    protocol = data.task.protocol
    assert isinstance(protocol, PhrasesBlock)
    every, some = (HiddenPhrases(data, "test", protocol, limit) for limit in (None, 4))
    assert len(some.sequences) == 4 < len(every.sequences)
    assert set(some.sequences.starts) <= set(every.sequences.starts)


def test_special_words_are_never_hidden() -> None:
    data = documents()
    data.pages.ids[::2] = -4  # <unk>
    made = data_of(data)
    assert made.cases["test"].targets.min() >= 0
    batch = next(iter(made.train_dataloader()))
    assert bool((batch.positions == 3).any())


def test_an_epoch_shows_each_sequence_once_and_corrupts_it_anew() -> None:
    made = data_of(documents())
    loader = made.train_dataloader()
    epochs = [np.concatenate([batch.row_ids.numpy() for batch in loader]) for _ in range(2)]
    assert sorted(epochs[0]) == sorted(epochs[1]) == list(range(made.n_rows))
    make = made.training_maker()
    rows = np.arange(4)
    same, other = make(rows, 0), make(rows, 1)
    assert np.array_equal(same.positions, make(rows, 0).positions)
    assert same.labels.shape != other.labels.shape or not np.array_equal(same.labels, other.labels)
