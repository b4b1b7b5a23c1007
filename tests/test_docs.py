"""README and docs must stay true: every command in them runs, their files load, their embedding passes the contract."""

from __future__ import annotations

import itertools
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hashbench.cli.app import main
from hashbench.common.registry import registered
from hashbench.data.sources.sources import open_sources
from hashbench.data.tasks.catalogue import expand_tasks, load_task
from hashbench.running.experiment.load import load_experiment
from hashbench.running.experiment.models import resolve_models
from hashbench.store.engine import open_results, open_store
from hashbench.store.migrate import upgrade
from hashbench.store.schema import metadata
from hashbench.store.status import find_experiment, runs
from hashbench.store.views import VIEWS
from tests.databases import compared
from tests.databases.made_up import World, build

ROOT = Path(__file__).resolve().parents[1]
README, DOCS, EXAMPLE = ROOT / "README.md", ROOT / "docs", ROOT / "results.db.example"

pytestmark = pytest.mark.skipif(not (DOCS.is_dir() and EXAMPLE.is_file()), reason="no docs beside the tests")

# A sweep of seconds, in place of the minutes or days that a documented one takes.
SHORT = (
    "seeds=[0] threads=1 keep_weights=best pretrain.steps=2 pretrain.batch_size=4 pretrain.sequence_length=16 "
    "pretrain.max_documents=20 pretrain.vocabulary_size=400 finetune.epochs=1 finetune.max_length=32 "
    "finetune.evaluations_per_epoch=1"
)
PLACEHOLDERS = {
    "FILE": "mine.yaml",
    "FOLDER": "data",
    "my.yaml": "mine.yaml",
    "their.yaml": "mine.yaml",
    "~/data": "data",
}
RUN_IDS = ("3fa2", "ID", "RUN")  # in place of the first digits of a run
OWN_RUNS = {"example": "own-1.db", "mine.db": "own-2.db", "other.db": "own-3.db"}  # in place of databases on a board
FLOORS = ("77aa",)  # likewise, of a trivial baseline
# Commands that need a model of links or phrases, an experiment's data, or the hub: the test that runs them.
ELSEWHERE = {
    "hashbench neighbours": "tests/running/sweep/test_entity_runs.py",
    "hashbench data check": "tests/hub/test_check.py",
    "hashbench data describe hub:": "tests/hub/test_others.py",
    "hashbench db delete": "tests/cli/test_db.py",
    "hashbench data links": "tests/cli/test_data.py",
    "hashbench data import-predictions": "tests/cli/test_data.py",
    "hashbench compare hashformer-lsh-proj other": "tests/running/sweep/test_importing.py",
    "hashbench worker": "tests/cli/test_worker.py",
    "hashbench quickstart": "tests/cli/test_begin.py",
    "hashbench init": "tests/cli/test_begin.py",
    "hashbench sweep questions.yaml": "tests/cli/test_begin.py",
    "hashbench export my-classifier": "tests/cli/test_begin.py",
    "hashbench predict my-classifier": "tests/cli/test_begin.py",
}
# Commands that run in a process of their own: the client of W&B keeps state, extensions are read from the environment.
APART = {
    "hashbench dashboard": {},
    "hashbench report --table counts": {"HASHBENCH_PLUGINS": "plugins"},
    "hashbench plot models": {"HASHBENCH_PLUGINS": "plugins"},
}
# Commands that draw or send all of an experiment run on one of few models, which takes a tenth of the time.
WHOLE, SMALL = ("hashbench dashboard glue_tiny", "hashbench report glue_tiny --format html"), "eelbert_tiny"
PYTHON = re.compile(r"```python\n# (\w+)/(\w+\.py)\n(.*?)```", re.DOTALL)  # folder, file, text


OWN_FILES = re.compile(r"```python\n# (\w+\.py)\n(.*?)```", re.DOTALL)  # file, text


def pages() -> list[Path]:
    return [README, *sorted(DOCS.glob("*.md"))] if DOCS.is_dir() else []


def blocks(page: Path) -> list[str]:
    """The indented code blocks of a page, without their indentation."""
    kept: list[str] = []
    current: list[str] = []
    for line in [*page.read_text().splitlines(), "end"]:
        if line.startswith("    ") or (current and not line.strip()):
            current.append(line[4:])
        elif current:
            kept.append("\n".join(current).strip("\n"))
            current = []
    return kept


def block(page: Path, start: str) -> str:
    return next(each for each in blocks(page) if each.startswith(start))


def commands() -> list[str]:
    """Every command with an argument, in a block or between backticks, without its comment."""
    lines: list[str] = []
    for page in pages():
        shown = [line for each in blocks(page) for line in each.splitlines() if line.startswith("hashbench ")]
        shown += re.findall(r"`(hashbench [^`]+)`", page.read_text())
        lines += [line.split(" #")[0].split(" > ")[0].strip() for line in shown]
    return list(dict.fromkeys(line for line in lines if "COMMAND" not in line))


def call(line: str) -> None:
    with pytest.raises(SystemExit) as left:
        main(shlex.split(line)[1:])
    assert not left.value.code, line


def write_data(folder: Path) -> None:
    """GLUE's tasks and three corpora in the form of a data folder, made of the built-in texts, and two further sets."""
    source = open_sources("builtin")
    for task in expand_tasks("glue", folder):
        data = load_task(task, source)
        for name, split in data.splits.items():
            columns = dict(zip(task.text, split.texts, strict=True)) | {task.label: split.labels}
            path = folder / "glue" / task.name / f"{name}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(pa.table({key: list(values)[:40] for key, values in columns.items()}), path)
    for task in expand_tasks("sib200", folder):
        (folder / task.home).mkdir(parents=True)
        for name in ("train", "validation", "test"):
            texts = {"text": [f"{task.part} word {i}" for i in range(14)], "category": [*task.label_names] * 2}
            pq.write_table(pa.table(texts), folder / task.home / f"{name}.parquet")
    further = pa.table({name: ["a fine film", "a dull one"] for name in ("sentence", "review")})
    further = further.append_column("gold", [["positive", "negative"]]).append_column("label", [[1, 0]])
    (folder / "2024").mkdir()
    pq.write_table(further, folder / "2024" / "test.parquet")
    (folder.parent / "adv_sst2.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in further.to_pylist()))
    for name in ("wikipedia", "books", "bookcorpus", "openwebtext"):
        path = folder / "corpora" / name / "0.parquet"
        path.parent.mkdir(parents=True)
        pq.write_table(pa.table({"text": [f"the {name} has word {i} and word {i + 1}." for i in range(200)]}), path)


@pytest.fixture(scope="session")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as a reader of the docs has it: data, files of their own, databases, an exported model."""
    from tests.warm import warm_workers  # imports torch, which collecting need not

    folder = tmp_path_factory.mktemp("desk")
    write_data(folder / "data")
    (folder / "experiments").symlink_to(ROOT / "experiments")
    (folder / "mine.yaml").write_text(block(README, "name: mine").replace("data: hub", "data: data"))
    (folder / "my_file.py").write_text(own_embedding() + "\n\nclass MyEmbedding(SignedSum):\n    pass\n")
    for name in ("results.db.example", "results.db", "other.db"):
        shutil.copy(EXAMPLE, folder / name)
        if name != "results.db.example":  # which is read as it is
            upgrade(folder / name)
    for name, wrong in (("mine.db", [1, 2, 5]), ("theirs.db", [3])):
        compared.build(folder / name, {"glue_tiny": [compared.Trained("bert-mlm", {"validation": wrong})]})
    for room, file, text in PYTHON.findall((DOCS / "extend.md").read_text()):
        (folder / room).mkdir(exist_ok=True)
        (folder / room / file).write_text(text)
    for file, text in OWN_FILES.findall((DOCS / "extend.md").read_text()):
        (folder / file).write_text(text)
    build(folder / "quickstart.db", World(name="quickstart", seeds=(0,), tasks=("cola", "sst2")))
    with pytest.MonkeyPatch.context() as patch, warm_workers():
        patch.chdir(folder)
        patch.setenv("HASHBENCH_CACHE", str(folder / "cache"))
        call(f"hashbench sweep mine.yaml {SHORT}")
        call(f"hashbench export --run {run_id(folder)} my-model --onnx")
        for name in OWN_RUNS.values():
            call(f"hashbench db export {name} --db results.db --experiment mine")
    return folder


def own_embedding() -> str:
    """The file of the README's section on an embedding."""
    return block(README, "# my_file.py") + "\n"


def run_id(folder: Path, model: str = "proj-256", kind: str = "finetune") -> str:
    """The first digits of a run of the README's experiment, by default of a fine-tuning."""
    store = open_store(str(folder / "results.db"), create=False, read_only=True)
    rows = runs(store, find_experiment(store, "mine").id)
    return next(run.run_id for run in rows if run.kind == kind and run.model == model)[:12]


def runnable(line: str, folder: Path) -> str:
    """The command with ids and files that are there; a sweep as a dry run."""
    words = [PLACEHOLDERS.get(word, word) for word in shlex.split(line)]
    # A run that is made void is none that others export.
    run = run_id(folder, "bert-mlm" if words[1:3] == ["db", "void"] else "proj-256")
    words = [run if word in RUN_IDS else word for word in words]
    words = [run_id(folder, "bag-of-words", "floor") if word in FLOORS else word for word in words]
    if words[1] == "sweep" and "--dry-run" not in words:
        words.append("--dry-run")
    if words[1] == "sweep" and "quickstart" not in words[2]:
        words += ["--data", "data"]
    if line.startswith(WHOLE):
        words = [SMALL if word == "glue_tiny" else word for word in words]
    if words[1:3] == ["data", "prepare"]:
        words += SHORT.split()
    if words[1] == "export":
        place = 4 if words[2] == "--run" else 2
        options = (word.strip("-") for word in words[place + 1 :] if word.startswith("--"))
        words[place] = "-".join([words[place], *options, "again"])
    if words[1:3] == ["db", "publish"]:
        words = [SMALL if word == "glue_tiny" else word for word in words]
        words += [] if SMALL in words else ["--experiment", SMALL]
    if words[1:3] == ["db", "export"]:
        words[3:] = ["given-away.db", "--db", "quickstart.db", "--replace"]  # a small one; several pages write it
    if words[1] == "board":  # which refuses made-up runs
        words = [OWN_RUNS.get(word, word) for word in words]
    return shlex.join(words)


@pytest.mark.parametrize("start", ELSEWHERE)
def test_a_command_that_is_run_elsewhere_is_shown_and_called_there(start: str) -> None:
    assert any(line.startswith(start) for line in commands())
    assert f'"{start.split()[-1]}"' in (ROOT / ELSEWHERE[start]).read_text()


def distinct_commands() -> list[str]:
    """The commands to run here: of two that differ in the database alone, the one that names it."""
    lines = [line for line in commands() if not line.startswith(tuple(ELSEWHERE))]
    return [line for line in lines if not {f"{line} --db example", f"{line} --db results.db"} & set(lines)]


@pytest.mark.parametrize("line", distinct_commands())
def test_a_command_of_the_docs_runs(
    line: str, desk: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if "--onnx" in line:
        pytest.importorskip("onnxruntime", reason="the extra hashbench[export] is not installed")
    monkeypatch.chdir(desk)
    monkeypatch.setenv("HASHBENCH_CACHE", str(desk / "cache"))
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("RESULTS", "results.db")
    apart = next((environment for start, environment in APART.items() if line.startswith(start)), None)
    if apart is None:
        call(runnable(line, desk))
        printed = words_of(capsys.readouterr().out)
    else:
        words = [sys.executable, "-m", *shlex.split(runnable(line, desk))]
        done = subprocess.run(words, env=os.environ | apart, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        printed = words_of(done.stdout)
    for expected in output_below(line):
        assert words_of(expected) in printed, expected


def output_below(line: str) -> list[str]:
    """What results.md shows below a command: the indented block after the next empty line."""
    lines = (DOCS / "results.md").read_text().splitlines()
    if f"    {line}" not in lines:
        return []
    start = lines.index(f"    {line}") + 2
    shown = itertools.takewhile(lambda text: text.startswith("    "), lines[start:])
    return [text.strip() for text in shown if text.strip() != "..."]


def words_of(text: str) -> str:
    """Without the width of columns and lines."""
    return re.sub(r"[\s─]+", " ", text)


def test_docs_show_a_command_for_each_way_to_conclude() -> None:
    text = "\n".join(commands())
    for expected in ("report claims", "compare", "report robustness", "--format html", "plot", "dashboard"):
        assert expected in text


def test_every_experiment_file_of_the_docs_exists() -> None:
    """A bare name is one of `experiments/`."""
    named = {name for page in pages() for name in re.findall(r"([\w/]+\.yaml)`", page.read_text())}
    assert {"glue_tiny.yaml", "analysis/noise_forms.yaml"} <= named
    own = {"mine.yaml", "my.yaml", "sweep.yaml", "file.yaml"}
    places = {name: ROOT / name if "/" in name else ROOT / "experiments" / name for name in named - own}
    assert {name for name, place in places.items() if not place.is_file()} == set()


def test_every_experiment_file_is_in_the_docs() -> None:
    text = (DOCS / "experiments.md").read_text()
    files = sorted((ROOT / "experiments").glob("*.yaml"))
    assert len(files) > 10
    for file in files:
        assert f"`{file.name}`" in text, file.name


def test_links_and_pictures_lead_somewhere() -> None:
    for page in pages():
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_first_own_experiment_loads(desk: Path) -> None:
    assert list(resolve_models(load_experiment(desk / "mine.yaml"))) == ["bert-mlm", "proj-256", "signed"]


def test_the_folders_are_listed_in_the_order_of_their_imports() -> None:
    """Each folder has a row in architecture.md, in the order of the contract."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    order = next(contract for contract in contracts if contract.get("exhaustive"))
    rooms = [room for layer in order["layers"] for room in layer.split(" | ")]
    rows = re.findall(r"^\| `(\w+)(?:/\w+)?/` \|", (DOCS / "architecture.md").read_text(), re.MULTILINE)
    assert list(dict.fromkeys(rows)) == rooms
    assert set(rooms) == {room.parent.name for room in (ROOT / "hashbench").glob("*/__init__.py")}


def test_files_named_in_the_docs_exist() -> None:
    named = re.findall(r"`((?:cli|deployment|running|results|data|models|scores|store|common)/[\w/.]+)`",
                       "".join(page.read_text() for page in pages()))  # fmt: skip
    assert len(named) > 20
    assert [name for name in named if not (ROOT / "hashbench" / name).exists()] == []


def test_a_page_fetches_nothing_from_elsewhere() -> None:
    for page in pages():
        assert not re.search(r"!\[[^]]*\]\(https?://", page.read_text()), page.name


def queries() -> list[str]:
    """The SQL of database.md."""
    fences = re.findall(r"```sql\n(.*?)```", (DOCS / "database.md").read_text(), re.DOTALL) if DOCS.is_dir() else []
    return [query.strip() for fence in fences for query in fence.split(";") if query.strip()]


@pytest.mark.parametrize("query", queries())
def test_a_query_of_the_docs_finds_rows(query: str) -> None:
    store = open_results(EXAMPLE)
    assert store.query(query)
    store.close()


def test_every_view_has_a_query_and_every_table_a_line() -> None:
    text, asked = (DOCS / "database.md").read_text(), " ".join(queries())
    for name in VIEWS:
        assert f"`{name}`" in text, name
        assert re.search(rf"FROM {name}\b", asked), name
    for name in set(metadata.tables) - {"setting", "alembic_version"}:
        assert f"| `{name}` |" in text, name


LISTED = {  # kind -> the example of extend.md that joins it as a plug-in
    "coder": "crc32.py",
    "task": "subj.py",
    "metric": "negative_error.py",
    "table": "counts.py",
    "figure": "models.py",
}


@pytest.mark.parametrize(("what", "file"), LISTED.items())
def test_the_example_of_an_extension_joins_its_kind(
    what: str, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    examples = {name: text for _, name, text in PYTHON.findall((DOCS / "extend.md").read_text())}
    (tmp_path / file).write_text(examples[file])
    monkeypatch.setenv("HASHBENCH_PLUGINS", str(tmp_path))
    assert file.removesuffix(".py") in registered(what)
