"""`encode`: the codes of tokens of a named model."""

from __future__ import annotations

import json
import re

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


def test_data_prepare_names_each_corpus(run: Run) -> None:
    prepared = run("data", "prepare", "small.yaml", "models=[{name: wide, like: hashformer-lsh-proj}]")
    assert prepared.code == 0 and re.fullmatch(r".*: [\d,]+ tokens of [\d,]+ types\n", prepared.out)
