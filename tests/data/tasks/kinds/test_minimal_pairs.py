"""data/tasks/kinds/minimal_pairs.py and pairs.py: reading, samples, trivial baselines, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hashbench.common.errors import InputError
from hashbench.common.measured import Paradigms
from hashbench.data.sources.sources import open_sources
from hashbench.data.tasks.blocks import TaskEntry
from hashbench.data.tasks.catalogue import expand_tasks, find_task, locate_task, under_protocol
from hashbench.data.tasks.kinds.minimal_pairs import KIND, PairData, PairsBlock
from hashbench.models.text.types import TypeTable

ROWS = [
    ("the cats sleep .", "the cats sleeps .", "agreement", "morphology"),
    ("a dog barks .", "a dog bark .", "agreement", "morphology"),
    ("Who did Ann see ?", "Ann did see who ?", "order", "syntax"),
    ("It rains .", "It rains .", "order", "syntax"),
]


def own(folder: Path, name: str = "test.csv", rows: list = ROWS, **keys: object) -> PairData:
    (folder / "pairs").mkdir(exist_ok=True)
    lines = ["good,bad,kind,field", *(",".join(row) for row in rows)]
    (folder / "pairs" / name).write_text("\n".join(lines) + "\n")
    values = {"name": "mine", "path": "pairs", "text": ["good", "bad"], "metric": "pair_accuracy"} | keys
    (task,) = expand_tasks([TaskEntry.model_validate(values)], folder)
    data = locate_task(task, open_sources("builtin")).load()
    assert isinstance(data, PairData)
    return data


def test_own_pairs_with_and_without_a_column_of_paradigms(tmp_path: Path) -> None:
    data = own(tmp_path, label="kind")
    assert data.paradigms == Paradigms(("agreement", "order"), {}, (False, True))
    assert data.pairs.texts[0][0] == "the cats sleep ." and data.pairs.labels.tolist() == [0, 0, 1, 1]
    assert data.notes[0].startswith("1 pairs are twice the same sentence")
    assert own(tmp_path).paradigms == Paradigms(("all pairs",), {}, (False,))
    assert own(tmp_path, max_rows=2).notes[0] == "sample: 2 of 4 pairs"
    assert Paradigms.of_notes(data.further_notes) == data.paradigms and Paradigms.of_notes({}) is None


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"text": "good"}, "text names two columns"),
        ({"text": ["good", "good"]}, "text names two columns"),
        ({"labels": ["a", "b"]}, "no classes"),
        ({"path": "nowhere"}, "no such folder"),
        ({"path": "pairs/test.csv"}, "is a file"),
        ({"text": ["good", "worse"]}, "no column 'worse'"),
        ({"splits": {"train": "test.csv"}}, "no test split (train is there); name the file of the pairs test.csv"),
        ({"metric": "pair_acuracy"}, "did you mean 'pair_accuracy'"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_one_line(tmp_path: Path, keys: dict, message: str) -> None:
    own(tmp_path)
    with pytest.raises(InputError) as error:
        own(tmp_path, **keys)
    assert message in str(error.value) and "\n" not in str(error.value)


def test_what_words_hide_is_noted(tmp_path: Path) -> None:
    shown = own(tmp_path, rows=[("a c\u00adat", "a cat", "k", "f"), ("caf\u00e9 .", "cafe\u0301 !", "k", "f")])
    assert [note.split(";")[0] for note in shown.notes] == [
        "1 pairs are twice the same sentence but for case, blanks or invisible characters",
        "not in one Unicode normal form (NFC): 1 text of test",
        "characters that show nothing: U+00AD SOFT HYPHEN in 1 text of test",
        "2 pairs of 1 paradigms",
    ]


@pytest.mark.parametrize(
    ("row", "message"), [(("", "b", "k", "f"), "empty sentence"), (("a", "b", " ", "f"), "is empty")]
)
def test_an_empty_cell_is_refused_with_its_row(tmp_path: Path, row: tuple, message: str) -> None:
    with pytest.raises(InputError, match=f"test.csv: column '.*': row 5: .*{message}"):
        own(tmp_path, rows=[*ROWS, row], label="kind")


def blimp(folder: Path, rows: list, **changes: object) -> PairData:
    place = folder / "minimal_pairs" / "blimp"
    place.mkdir(parents=True, exist_ok=True)
    lines = ["sentence_good,sentence_bad,UID,linguistics_term,field", *(",".join(row) for row in rows)]
    (place / "test.csv").write_text("\n".join(lines) + "\n")
    (task,) = under_protocol([find_task("blimp")], changes, folder)
    return locate_task(task, open_sources(str(folder))).load()


ISLANDS = ("a b", "b a", "adjunct_island", "island_effects", "syntax")
FRAMES = ("a b", "c a", "animate_subject", "s-selection", "syntax/semantics")


def test_groups_have_the_names_of_the_paper(tmp_path: Path) -> None:
    data = blimp(tmp_path, [FRAMES, ISLANDS])
    assert data.paradigms == Paradigms(
        ("adjunct_island", "animate_subject"),
        {"phenomenon": ("island_effects", "argument_structure"), "field": ("syntax", "syntax_semantics")},
        (True, False),
    )


def test_a_paradigm_in_two_groups_is_refused(tmp_path: Path) -> None:
    other = (*ISLANDS[:3], "binding", "syntax")
    with pytest.raises(
        InputError, match="row 2: paradigm 'adjunct_island' is of phenomenon 'island_effects' and 'bind"
    ):
        blimp(tmp_path, [ISLANDS, other])


def test_at_most_so_many_pairs_of_each_paradigm_the_same_in_every_reading(tmp_path: Path) -> None:
    rows = [(f"a {i}", f"b {i}", *row[2:]) for i in range(20) for row in (ISLANDS, FRAMES)]
    few = blimp(tmp_path, rows, minimal_pairs=PairsBlock(max_pairs=3))
    assert few.notes[0] == "sample: 6 of 40 pairs, at most 3 a paradigm"
    assert np.bincount(few.pairs.labels).tolist() == [3, 3]
    assert few.pairs.texts == blimp(tmp_path, rows, minimal_pairs=PairsBlock(max_pairs=3)).pairs.texts
    whole = blimp(tmp_path, rows)
    assert len(whole.pairs) == 40 and few.fingerprint != whole.fingerprint


def test_trivial_baselines_and_a_tie_of_the_same_words(tmp_path: Path) -> None:
    data = own(tmp_path, label="kind")
    words = TypeTable.from_counts({"the": 9, "cats": 5, "sleep": 5, "sleeps": 1, "a": 9, "dog": 7, "bark": 6, "who": 2})
    outputs, targets = KIND.predictions("unigrams", data, words=words)["test"]
    assert targets.tolist() == [0, 0, 1, 1]
    assert outputs[:, 0].tolist() == [2, 0, 1, 1], "barks never occurs; the same words tie in any order"
    shorter = KIND.predictions("shorter-sentence", own(tmp_path, rows=[("a b", "a b c", "k", "f")]))["test"].outputs
    assert shorter.tolist() == [[2, 1, 1, 0, 0]]


def test_the_score_that_tables_show_is_that_of_the_sums() -> None:
    assert find_task("blimp").select_metric == "pair_accuracy"


def test_models_are_not_trained_on_it() -> None:
    assert not KIND.learned and not KIND.exported
    with pytest.raises(TypeError, match="scored on it, not trained"):
        KIND.batches()
