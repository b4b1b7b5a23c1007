"""What a run needs is made once, and again where it was damaged."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hashbench.common.errors import InputError
from hashbench.data.sources.documents import own_corpus
from hashbench.models.coders.lsh import LshBits
from hashbench.models.coders.rows import Vocabulary
from hashbench.models.text.types import TypeTable
from hashbench.running.experiment.load import load_experiment
from hashbench.running.experiment.models import resolve_models
from hashbench.running.runs.materials import Materials, fit_once
from hashbench.running.sweep.plan import plan
from tests.damage import DAMAGES

TABLE = TypeTable.from_counts({"play": 2, "the": 1, "player": 5, "house": 3})


@pytest.mark.parametrize("kind", [LshBits, Vocabulary])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_state_of_a_coder_is_fitted_again(
    tmp_path: Path, kind: type[LshBits] | type[Vocabulary], damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    fits = []

    def fitted() -> np.ndarray:
        coder = kind()

        def fit() -> None:
            fits.append(1)
            coder.fit(TABLE)

        fit_once(coder, ["one identity"], fit, tmp_path)
        return coder.encode(["play", "other"])

    codes = fitted()
    assert np.array_equal(fitted(), codes) and len(fits) == 1
    (path,) = tmp_path.glob("*.npz")
    DAMAGES[damage](path)
    assert np.array_equal(fitted(), codes) and len(fits) == 2
    assert str(path) in capsys.readouterr().err


@pytest.mark.parametrize(("budget", "rows"), [(50_000, 391), (800_000, 6_250)])
def test_a_vocabulary_too_small_for_its_budget_is_one_line(tmp_path: Path, budget: int, rows: int) -> None:
    (tmp_path / "a.yaml").write_text(
        f"name: a\ndata: builtin\nencoder: tiny\nbudget: {{embedding_parameters: {budget}}}\n"
        "models: [{name: bpe, like: bert-mlm, objective: none}]\ntasks: [sst2]\n"
        "pretrain: {corpora: [builtin], max_documents: 20}\n"
    )
    model = resolve_models(load_experiment(tmp_path / "a.yaml", []))["bpe"]
    materials = Materials(["builtin"], tmp_path / "cache")
    if budget == 50_000:
        assert materials.texts(model).vocabulary_rows == rows
        return
    with pytest.raises(InputError, match=rf"^model bpe: its budget asks for a vocabulary of {rows:,} rows, but its "):
        materials.texts(model)


LEARNED = """\
name: a
data: builtin
encoder: tiny
models:
  - {name: both, like: bert-mlm, objective: none, tokenizer: {learn_on: [corpus, tasks]}}
  - {name: own, like: bert-mlm, objective: none, tokenizer: {learn_on: [mine]}}
  - {name: plain, like: bert-mlm, objective: none}
tasks: [{name: mine, path: own, text: words}]
pretrain: {corpora: [builtin], max_documents: 20, vocabulary_size: 330}
"""


@pytest.fixture
def learned(tmp_path: Path) -> Path:
    """An experiment whose vocabularies are learned on an own data set, of which each split has a word of its own."""
    (tmp_path / "own").mkdir()
    for split, word in {"train": "qqqqq", "validation": "vvvvv", "test": "wwwww"}.items():
        (tmp_path / "own" / f"{split}.csv").write_text("words,label\n" + f"{word} {word},1\n{word},0\n" * 40)
    (tmp_path / "a.yaml").write_text(LEARNED)
    return tmp_path / "a.yaml"


def test_a_vocabulary_is_learned_on_training_texts_and_no_others(learned: Path, tmp_path: Path) -> None:
    loaded = load_experiment(learned, [])
    materials = Materials(["builtin"], tmp_path / "cache")
    texts = {name: materials.texts(model) for name, model in resolve_models(loaded).items()}
    pieces = {name: set(each.tokenizer.pieces) for name, each in texts.items()}
    assert {name: "qqqqq" in of for name, of in pieces.items()} == {"both": True, "own": True, "plain": False}
    assert not any({"vv", "ww"} & of for of in pieces.values())
    assert texts["own"].corpus is None and len(pieces["own"]) < 270 < len(pieces["both"])
    assert texts["both"].corpus is not None and texts["both"].corpus.tokenizer.pieces == texts["both"].tokenizer.pieces


def test_the_training_texts_are_part_of_a_run(learned: Path) -> None:
    def runs() -> dict[str, tuple[str, dict[str, Any]]]:
        planned = plan(load_experiment(learned, []))
        return {run.model: (run.id, run.spec) for run in planned.runs if run.kind == "finetune" and run.seed == 0}

    before = runs()
    entry = before["both"][1]["corpus"]["tasks"]
    assert [task["name"] for task in entry] == ["mine"] and len(entry[0]["fingerprint"]) == 64
    assert before["own"][1]["corpus"]["corpora"] == [] and "tasks" not in before["plain"][1]["corpus"]
    learned.write_text(LEARNED.replace("[corpus, tasks]", "[mine, corpus]"))
    assert runs()["both"][0] == before["both"][0]  # the same texts, in other words
    learned.write_text(LEARNED.replace("name: own,", "name: other,").replace("documents: 20", "documents: 21"))
    after = runs()
    assert after["both"][0] != before["both"][0] and after["other"][0] == before["own"][0]


def test_words_of_own_files_are_read_where_the_plan_read_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_text("meant words\n" * 3)
    (tmp_path / "a.txt").write_text("others of equal name\n")
    monkeypatch.chdir(tmp_path)
    pattern = str(tmp_path / "texts" / "*.txt")
    corpus = own_corpus(pattern)
    materials = Materials(["builtin"], tmp_path / "cache", corpora={pattern: corpus})
    options: dict[str, Any] = {"max_documents": None, "first_chunk_only": False}
    named = {"name": corpus.name, "fingerprint": corpus.fingerprint}
    types = materials.seen_types({"corpora": [named], **options})
    assert set(types.strings()) == {"meant", "words"}
    with pytest.raises(InputError, match="corpus a.txt: not the one of the plan"):
        materials.seen_types({"corpora": [{**named, "fingerprint": "other"}], **options})
