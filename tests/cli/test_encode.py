"""`encode`: the codes of tokens, of a named model and as a run had them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.commands import Run, fails

PLAY = "95ea122b0b72902c5a95d7ba740ff838"  # HMAC-MD5 of "play" under the key "en", the released code's
CODES = {
    "hashformer-md-proj": {"token": "play", "codes": [], "bits": PLAY},
    "hashformer-md-add": {"token": "play", "codes": [], "bits": PLAY},
    "hashformer-md-pool": {
        "token": "play",
        "codes": [599, 673, 138, 779, 458, 258, 790, 661, 862, 935, 259, 1016, 56],
        "bits": PLAY,
    },
    "hashformer-md-emb-50k": {"token": "play", "codes": [22237], "bits": None},
    "hashformer-md-emb-1k": {"token": "play", "codes": [740], "bits": None},
}


@pytest.mark.parametrize(("model", "expected"), CODES.items())
def test_encode_gives_the_codes_of_the_released_code(run: Run, model: str, expected: dict[str, object]) -> None:
    outcome = run("encode", "--model", model, "--format", "json", "play")
    assert (json.loads(outcome.out), outcome.code, outcome.err) == ([expected], 0, "")


def test_encode_splits_texts_as_the_model_does(run: Run) -> None:
    found = json.loads(run("encode", "--model", "hashformer-md-proj", "--format", "json", "Don't", "PLAY").out)
    assert [each["token"] for each in found] == ["don", "'", "t", "play"]


@pytest.mark.parametrize("text", ["", " "])
def test_a_text_without_a_token_is_one_line(run: Run, text: str) -> None:
    outcome = run("encode", "--model", "hashformer-md-emb-1k", "play", text)
    fails(outcome, f"text 2: no token in {text!r}; give a text with a word")


def test_encode_as_text_is_one_line_a_token(run: Run) -> None:
    assert run("encode", "--model", "hashformer-md-emb-1k", "play").out == "play\t740\n"


def test_encode_fits_a_dictionary_on_the_builtin_corpus_and_says_so(run: Run) -> None:
    outcome = run("encode", "--model", "hashformer-lsh-proj", "--format", "json", "play")
    assert "built-in corpus" in outcome.err
    assert len(json.loads(outcome.out)[0]["bits"]) == 32


def test_data_prepare_and_encode_as_a_run_does(run: Run) -> None:
    """The run's own model, label and dictionary; a floor has no codes."""
    from hashbench.running.experiment.load import load_experiment
    from hashbench.running.sweep.plan import plan
    from hashbench.store.engine import open_store
    from hashbench.store.planning import add_experiment

    change = "models=[{name: wide, like: hashformer-lsh-proj, coder: {bits: 256}}]"
    prepared = run("data", "prepare", "small.yaml", change)
    assert prepared.code == 0 and re.fullmatch(r".*: [\d,]+ tokens of [\d,]+ types\n", prepared.out)
    loaded = load_experiment("small.yaml", [change])
    planned = {each.kind: each for each in plan(loaded).runs}
    store = open_store("results.db")
    config = loaded.experiment.model_dump(mode="json")
    add_experiment(store, "small", config, list(planned.values()), baseline="bert-mlm")
    store.close()
    encoded = run("encode", "--run", planned["finetune"].id[:12], "--format", "json", "play")
    assert len(json.loads(encoded.out)[0]["bits"]) == 64  # 256 bits
    fails(run("encode", "--run", planned["floor"].id[:12], "play"), "a run of kind floor has no codes")
    fails(run("encode", "--run", planned["finetune"].id[:12], "--model", "bert-mlm", "play"), "is a run of 'wide'")


def test_encode_of_a_run_looks_where_its_sweep_had_the_data(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """--data first, then what the sweep wrote down, then the file's own sources from here."""
    from hashbench.deployment import encoding
    from hashbench.running.experiment.load import load_experiment
    from hashbench.running.sweep.plan import plan
    from hashbench.store.engine import open_store
    from hashbench.store.planning import add_experiment

    loaded = load_experiment("small.yaml")
    rows = list(plan(loaded).runs)
    finetune = next(row.id for row in rows if row.kind == "finetune")
    used: list[tuple[str, ...]] = []
    monkeypatch.setattr(encoding, "fitted_reader", lambda loaded, model, sources: used.append(tuple(sources)))
    store = open_store("results.db")
    for extra in ({}, {"provenance": {"sources": ["/far/data", "hub"], "tasks": {}}}):
        add_experiment(store, "small", loaded.experiment.model_dump(mode="json") | extra, rows, baseline="bert-mlm")
        encoding.reader_of_run("results.db", finetune, None, None)
    encoding.reader_of_run("results.db", finetune, None, ["near"])
    store.close()
    assert used == [("builtin",), ("/far/data", "hub"), (str(Path.cwd() / "near"),)]
