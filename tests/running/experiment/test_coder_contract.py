"""A coder of one's own in one file with its embedding: checked, trained with, fingerprinted."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hashbench.cli.app import main
from hashbench.models.coders.base import make_coder
from hashbench.running.experiment.coder_contract import coder_contract
from hashbench.running.experiment.contract import rows_never_reached
from hashbench.running.experiment.load import load_experiment
from hashbench.running.sweep.plan import plan

DOCS = Path(__file__).parents[3] / "docs" / "extend.md"
FILE = "ngram_buckets.py"
EXPERIMENT = """\
name: own
data: builtin
encoder: tiny
models:
  - {name: ngrams, use: "ngram_buckets.py:NgramBuckets", tokenizer: words, coder: {kind: "ngram_buckets.py:Ngrams",
     num_buckets: 500}, objective: shuffle_random}
tasks: [mrpc]
seeds: [0]
floors: []
baseline: ngrams
pretrain: {corpora: [builtin], steps: 2, batch_size: 4, sequence_length: 16, max_documents: 30}
finetune: {steps: 2, batch_size: 8, max_length: 16}
"""
FAULTS = {
    "return (n, width)": ("return codes", "return codes.ravel()", "codes have the width"),
    "Python's hash() differs there": ("fnv(gram.encode())", "hash(gram)", "another process"),
    "depends on its batch": ("% self.num_buckets", "% (len(offsets) + 7)", "a code depends on the type alone"),
    "recipe() lacks self.name": (
        "    def encode_utf8", "    def recipe(self):\n        return {}\n\n    def encode_utf8", "its recipe names it",
    ),
}  # fmt: skip


def documented() -> str:
    """The file that the page shows."""
    return re.search(r"```python\n# ngram_buckets.py\n(.*?)```", DOCS.read_text(), re.DOTALL)[1]  # type: ignore[index]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path / "cache"))
    Path(FILE).write_text(documented())
    Path("own.yaml").write_text(EXPERIMENT)
    return tmp_path


@pytest.mark.e2e
def test_the_documented_file_is_short_and_keeps_every_promise(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert len(documented().splitlines()) <= 60
    for options in (["--coder", f"{FILE}:Ngrams"],
                    ["--embedding", f"{FILE}:NgramBuckets", "--coder", f"{FILE}:Ngrams"]):  # fmt: skip
        with pytest.raises(SystemExit) as ended:
            main(["check", *options])
        out = capsys.readouterr().out
        assert not ended.value.code and "FAIL" not in out and "note" not in out, out
    assert "coder ngram_buckets.py:Ngrams" in out


@pytest.mark.e2e
@pytest.mark.parametrize("why", FAULTS)
def test_a_broken_promise_is_named(folder: Path, why: str) -> None:
    right, wrong, promise = FAULTS[why]
    assert right in documented()
    Path(FILE).write_text(documented().replace(right, wrong))
    broken = {found.promise: found.problem for found in coder_contract(f"{FILE}:Ngrams") if found.problem}
    assert any(promise in each and why in str(problem) for each, problem in broken.items()), broken
    assert ("threads" in " ".join(broken)) <= ("threads" in promise)  # no fault that follows


def test_an_edited_file_is_another_coder_and_has_other_runs(folder: Path) -> None:
    def planned() -> tuple[str, str]:
        made = plan(load_experiment("own.yaml"))
        return made.resolved.models["ngrams"].spec.code.coder, made.runs[0].id

    (name, run), again = planned(), planned()
    assert again == (name, run) and re.fullmatch("Ngrams@[0-9a-f]{12}", name)
    assert make_coder(name, num_buckets=500).recipe() == {"name": name, "num_buckets": 500}
    Path(FILE).write_text(documented() + "# another line\n")
    assert planned()[0] != name and planned()[1] != run


def test_what_is_no_coder_is_one_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for value, words in ((f"{FILE}:Ngram", "no coder class 'Ngram'; did you mean 'Ngrams'?; derive it from"),
                         ("none.py:Ngrams", "no such file; name a Python file")):  # fmt: skip
        with pytest.raises(SystemExit) as ended:
            main(["check", "--coder", value])
        error = capsys.readouterr().err
        assert ended.value.code == 2 and words in error and error.count("\n") == 1


def test_rows_that_no_code_reaches_are_counted(folder: Path) -> None:
    model = plan(load_experiment("own.yaml")).resolved.models["ngrams"].spec
    assert rows_never_reached(model, 3_000) == []
    Path(FILE).write_text(documented().replace("% self.num_buckets", "% (self.num_buckets // 4)"))
    quarter = plan(load_experiment("own.yaml")).resolved.models["ngrams"].spec
    (line,) = rows_never_reached(quarter, 3_000)
    assert line.startswith("375 of 500 rows of buckets are reached by none of 3,000 types")


@pytest.mark.slow
@pytest.mark.usefixtures("warm_workers")
def test_a_sweep_with_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["sweep", "own.yaml", "--db", "r.db", "--workers", "1"])
    assert not ended.value.code, capsys.readouterr()
    assert list((folder / "cache").rglob("codes-Ngrams@*.npy"))
