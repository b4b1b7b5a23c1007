"""running/experiment/code.py: files of code are printed before they run, and a database's run only when trusted."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from hashbench.cli.app import main
from hashbench.common.errors import InputError
from hashbench.running.experiment.code import NamedCode, code_of
from hashbench.running.experiment.load import Loaded, load_experiment
from hashbench.running.experiment.models import resolve_models
from hashbench.running.experiment.stored_models import model_of_run
from hashbench.store.engine import Store, open_store
from hashbench.store.planning import add_experiment
from tests.running.experiment.test_stored_models import row

CODE = """
import sys
print("it runs: {name}", file=sys.stderr)
from hashbench.models.embeddings.hashformer import Projection
from hashbench.models.coders.md5 import Md5Bits
from hashbench.models.text.words import WordTokenizer
class Mine(Projection):
    pass
class Codes(Md5Bits):
    pass
class Words(WordTokenizer):
    pass
"""
EXPERIMENT = """
name: strange
encoder: tiny
models: [bert-tiny, {name: mine, use: "mine.py:Mine", coder: "codes.py:Codes", tokenizer: {kind: "words.py:Words"}}]
baseline: bert-tiny
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An experiment whose models are three files of code, which nobody has run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("mine", "codes", "words"):
        (tmp_path / f"{name}.py").write_text(CODE.format(name=f"{name} of {tmp_path}"))
    (tmp_path / "strange.yaml").write_text(EXPERIMENT)
    return tmp_path / "strange.yaml"


def stored_elsewhere(path: Path, loaded: Loaded) -> Store:
    """A database with a run of the experiment's model, as somebody else planned it."""
    store = open_store(path)
    plain = load_experiment(loaded.path, ['models=["bert-tiny"]'])
    planned = row(plain, resolve_models(plain)["bert-tiny"])
    config = loaded.experiment.model_dump(mode="json")
    add_experiment(store, "strange", config, [planned], baseline="bert-tiny")
    return store


def test_each_file_is_printed_before_it_runs_and_once(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    resolve_models(load_experiment(file))
    lines = [line for line in capsys.readouterr().err.splitlines() if "runs" in line]
    printed = [f"{file}: 'mine' runs the code of {file.parent / name}" for name in ("mine.py", "codes.py", "words.py")]
    ran = [f"it runs: {name} of {file.parent}" for name in ("mine", "codes", "words")]
    assert lines == [*printed, *ran]
    resolve_models(load_experiment(file))
    assert "runs" not in capsys.readouterr().err


def test_a_file_that_changed_is_printed_again(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    resolve_models(load_experiment(file))
    (file.parent / "codes.py").write_text(CODE.format(name="another"))
    capsys.readouterr()
    resolve_models(load_experiment(file))
    assert f"'mine' runs the code of {file.parent / 'codes.py'}" in capsys.readouterr().err


def test_code_that_a_database_names_runs_only_when_trusted(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = stored_elsewhere(file.parent / "theirs.db", load_experiment(file))
    with pytest.raises(InputError, match=r"theirs\.db: 'mine' runs the code of .*mine\.py, which never ran here"):
        model_of_run(store, "bert-tiny")
    assert "it runs" not in capsys.readouterr().err
    model_of_run(store, "bert-tiny", trust_code=True)
    assert capsys.readouterr().err.count("it runs") == 3


def test_code_of_an_own_file_needs_no_trust_afterwards(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hashbench.running.experiment import code

    resolve_models(load_experiment(file))
    monkeypatch.setattr(code, "_ran", set())  # as in another process
    store = stored_elsewhere(file.parent / "ours.db", load_experiment(file))
    model_of_run(store, "bert-tiny")
    (file.parent / "mine.py").write_text(CODE.format(name="not the one that ran"))
    with pytest.raises(InputError, match="never ran here"):
        model_of_run(store, "bert-tiny")


def test_check_without_code_lists_the_files_and_imports_none(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (file.parent / "helper.py").write_text("1\n")
    (file.parent / "mine.py").write_text("import helper\n" + (file.parent / "mine.py").read_text())
    with pytest.raises(SystemExit) as left:
        main(["check", str(file), "--no-code"])
    out, err = capsys.readouterr()
    assert left.value.code == 0 and "it runs" not in err
    assert "not imported" in out and all(f"{file.parent / name}.py" in out for name in ("mine", "codes", "words"))
    assert f"{file.parent / 'helper.py'}" in out and hashlib.sha256(b"1\n").hexdigest() in out


def test_a_module_is_found_without_importing_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "strangers"
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemExit('imported')")
    (package / "model.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    file = tmp_path / "a.yaml"
    file.write_text('name: a\nmodels: [bert-tiny, {name: m, use: "strangers.model:Mine"}, {name: n, use: "gone.x:Y"}]\n'
                    "baseline: bert-tiny\n")  # fmt: skip
    first, second = code_of(load_experiment(file))
    assert (first.path, second.path) == (package / "model.py", None) and len(first.digest) == 64


def test_a_model_of_another_library_is_no_code(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text('name: a\nmodels: [bert-tiny, {name: m, use: "transformers:./x"}]\nbaseline: bert-tiny\n')
    assert code_of(load_experiment(file)) == []


def of_file(path: Path) -> NamedCode:
    return NamedCode("mine", "mine.py:Mine", path)


@pytest.mark.parametrize(
    ("line", "file"),
    [
        ("import helper", "helper.py"),
        ("from helper import x", "helper.py"),
        ("def f():\n    import helper.inner as inner", "helper/inner.py"),
        ("from helper.inner import x", "helper/__init__.py"),
        ("from .helper import x", "helper.py"),
        ("from . import helper", "helper.py"),
        ("try:\n    import other\nexcept ImportError:\n    pass", "helper.py"),  # other.py imports it
    ],
)
def test_a_file_beside_it_that_it_imports_counts_as_its_code(line: str, file: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(line + "\n")
    (tmp_path / "other.py").write_text("import helper, mine\n")
    (tmp_path / "unused.py").write_text("1\n")
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text("x = 1\n")
    code = of_file(tmp_path / "mine.py")
    before = code.digest
    assert len(before) == 64 and tmp_path / file in code.files() and tmp_path / "unused.py" not in code.files()
    assert str(Path(file)) in code.shown()
    (tmp_path / "unused.py").write_text("2\n")
    assert code.digest == before
    (tmp_path / file).write_text("x = 2\n")
    assert code.digest != before


def test_a_checkout_beside_a_file_is_none_of_its_code(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("from hashbench.extend import Embedding\nimport helper\n")
    for inner in ("hashbench/hashbench", "hashbench/.venv/lib", "helper/.venv/lib/site-packages", "helper/part"):
        (tmp_path / inner).mkdir(parents=True)
        (tmp_path / inner / "code.py").write_text("1\n")
    assert of_file(tmp_path / "mine.py").files() == [tmp_path / "mine.py", tmp_path / "helper" / "part" / "code.py"]


def test_a_line_names_a_few_of_many_files(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import helper\n")
    (tmp_path / "helper").mkdir()
    for number in range(20):
        (tmp_path / "helper" / f"part_{number:02}.py").write_text("1\n")
    assert of_file(tmp_path / "mine.py").shown().endswith("helper/part_07.py, 12 more beside it")


def test_the_digest_of_a_file_alone_is_that_of_its_content(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import json, torch\n")
    assert of_file(tmp_path / "mine.py").digest == hashlib.sha256(b"import json, torch\n").hexdigest()
    assert of_file(tmp_path / "gone.py").digest == "" and NamedCode("m", "gone.x:Y", None).digest == ""
    (tmp_path / "mine.py").write_text("import ( no Python\n")
    assert of_file(tmp_path / "mine.py").digest == hashlib.sha256(b"import ( no Python\n").hexdigest()


def test_a_database_runs_no_code_whose_neighbour_changed(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hashbench.running.experiment import code

    helper = file.parent / "helper_of_codes.py"
    helper.write_text("x = 1\n")
    monkeypatch.syspath_prepend(str(file.parent))
    codes = file.parent / "codes.py"
    # Later tests of this process hand the file to their workers, which have another path.
    codes.write_text("try:\n    import helper_of_codes\nexcept ImportError:\n    pass\n" + codes.read_text())
    resolve_models(load_experiment(file))
    monkeypatch.setattr(code, "_ran", set())  # as in another process
    store = stored_elsewhere(file.parent / "ours.db", load_experiment(file))
    model_of_run(store, "bert-tiny")
    helper.write_text("x = 2\n")
    with pytest.raises(
        InputError, match=r"runs the code of .*codes\.py with helper_of_codes\.py beside it, which never ran"
    ):
        model_of_run(store, "bert-tiny")
