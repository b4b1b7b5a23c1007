"""An output never replaces an input: every parameter of every command that writes, before any work is done."""

from __future__ import annotations

import functools
import inspect
import os
import sqlite3
import typing
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from hashbench.cli.app import GROUPS, app
from hashbench.cli.outputs import Writes, no_report, refuse_inputs, written_by
from hashbench.common.atomic import atomic_write, belongs_to, replace_text
from hashbench.common.errors import InputError
from hashbench.data.sources.text_tables import READERS
from hashbench.store.engine import open_store
from hashbench.store.planning import add_experiment
from tests.cli.commands import Run, fails

# Paths that commands only read; a new one belongs here, or has the mark `Writes`
ONLY_READ = {
    ("check", "file"), ("data import-predictions", "file"), ("data links", "dump"), ("data prepare", "file"),
    ("evaluate", "on"), ("predict", "folder"), ("report claims", "file"), ("sweep", "file"), ("worker", "file"),
}  # fmt: skip
# Texts that name places or files. --db and --artifacts take nothing but a database and a folder; `init` keeps files.
OF_PLACES = {
    "data",
    "db",
    "artifacts",
    "file",
    "databases",
    "embedding",
    "coder",
    "name",
    "names",
    "models",
    "leave_out",
}
EXPERIMENT = """name: small
models:
  - {name: own, use: "own.py:Own", coder: "parts/own_coder.py:Coder"}
tasks:
  - {name: mine, path: ../data/mine, text: text, label: label, splits: {train: first.csv, validation: second.csv}}
corpora: [../texts/*.txt]
claims: claims.csv
"""
CONFIG = {
    "name": "small",
    "data": ["data"],
    "models": [{"name": "own", "use": "own.py:Own", "coder": "parts/own_coder.py:Coder"}],
    "tasks": [{"name": "mine", "path": "../data/mine", "splits": {"train": "first.csv", "validation": "second.csv"}}],
}
FILES = {
    "conf/small.yaml": EXPERIMENT,
    "conf/own.py": "class Own: ...\n",
    "conf/parts/own_coder.py": "class Coder: ...\n",
    "conf/claims.csv": "id,kind,left,right,column,unit\nc1,greater,a,b,mine,points\n",
    "data/mine/first.csv": "text,label\na,b\n",
    "data/mine/second.csv": "text,label\na,b\n",
    "data/mine/test.csv": "text,label\na,b\n",
    "data/glue/cola/train.tsv": "text\tlabel\na\tb\n",
    "data/corpora/mine/0.txt": "a text\n",
    "v.db-wal": "a log",
    "v.db.saved-1": "a copy",
    "dump.xml.bz2": "a dump",
    "adv.jsonl": "{}",
}
VICTIMS = [*FILES, "v.db", "other.db", "v.db-shm", "v.db-journal", "other.db-wal", "other.db.saved-3"]


@functools.cache
def commands() -> dict[str, Callable[..., None]]:
    """The function of every command by the command's name, found from the program itself."""
    found: dict[str, Callable[..., None]] = {}
    for members in GROUPS.values():
        for name, member in members.items():
            if isinstance(member, typer.Typer):
                of_group = typer.main.get_command(member).commands.items()  # type: ignore[attr-defined]
                found |= {f"{name} {inner}": command.callback for inner, command in of_group}
    whole = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    return found | {name: command.callback for name, command in whole.items() if not hasattr(command, "commands")}


def writing() -> list[tuple[str, str]]:
    """Every command and parameter that names what is written."""
    return [(name, parameter) for name, command in commands().items() for parameter in written_by(command)]


def test_the_parameters_that_write_are_found() -> None:
    assert sorted(writing()) == [
        ("board", "out"), ("dashboard", "output"), ("data links", "out"), ("db export", "file"),
        ("db publish", "folder"), ("export", "folder"), ("plot", "folder"), ("report", "output"),
        ("report claims", "output"), ("report robustness", "output"),
    ]  # fmt: skip


def paths_of(command: Callable[..., None]) -> Iterator[str]:
    for name, hint in typing.get_type_hints(command).items():
        if Path in (hint, *typing.get_args(hint)):
            yield name


@pytest.mark.parametrize("name", commands())
def test_every_path_of_a_command_is_read_or_is_marked_as_written(name: str) -> None:
    command = commands()[name]
    undeclared = {each for each in paths_of(command) if (name, each) not in ONLY_READ} - set(written_by(command))
    assert not undeclared, f"{name}: mark {undeclared} with Writes, or name it in ONLY_READ"


@pytest.mark.parametrize("name", commands())
def test_no_text_of_a_command_names_a_file_to_write(name: str) -> None:
    command = commands()[name]
    for parameter, hint in typing.get_type_hints(command, include_extras=True).items():
        for option in getattr(hint, "__metadata__", ()):
            words = f"{parameter} {getattr(option, 'metavar', '') or ''}".lower().replace("_", " ").split()
            if {"file", "folder", "out", "output", "dir", "path"} & set(words) and parameter not in paths_of(command):
                assert parameter in OF_PLACES, f"{name} {parameter}: annotate it as a Path"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "v.db-wal").unlink()
    store = open_store(tmp_path / "v.db")
    add_experiment(store, "small", CONFIG, [], baseline="own", command="sweep conf/small.yaml")
    store.close()
    with sqlite3.connect(tmp_path / "other.db") as other:
        other.execute("CREATE TABLE t (a)")
    other.close()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def values(name: str, parameter: str, output: str) -> dict[str, object]:
    """The values of the command's parameters, where it is called to write to `output`."""
    needed = {"file": Path("conf/small.yaml"), "databases": ["v.db"], "dump": Path("dump.xml.bz2")}
    found: dict[str, object] = {}
    for each, of_command in inspect.signature(commands()[name]).parameters.items():
        is_needed = of_command.default in (inspect.Parameter.empty, ...)
        found[each] = needed.get(each, "x") if is_needed else of_command.default
    return found | ({"db": "v.db"} if "db" in found else {}) | {parameter: Path(output)}


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.endswith(("-shm", "-wal"))
    }


def linked(victim: str) -> Iterator[str]:
    """The victim by its name, and behind links with a name that says nothing; each is gone afterwards."""
    yield victim
    if Path(victim).exists():
        for link in (os.symlink, os.link):
            link(Path(victim).absolute(), "a_link")
            yield "a_link"
            Path("a_link").unlink()


@pytest.mark.parametrize(("name", "parameter"), writing())
def test_no_output_replaces_an_input(place: Path, name: str, parameter: str) -> None:
    before = contents(place)
    for victim in VICTIMS:
        for output in linked(victim):
            if output != victim and victim in ("dump.xml.bz2", "adv.jsonl") and "report" in name:
                continue  # no file of this call, and a text
            with pytest.raises(InputError):
                commands()[name](**values(name, parameter, output))
            now = contents(place)
            now.pop("a_link", None)
            assert now == before, f"{name} {output} -> {victim}"


@pytest.mark.parametrize("option", ["-o", "--output"])
@pytest.mark.parametrize("name", ["report", "report claims", "report robustness", "plot", "dashboard"])
def test_on_the_command_line_it_is_one_line(place: Path, run: Run, name: str, option: str) -> None:
    done = run(*name.split(), "small", "--db", "v.db", option, "v.db")
    fails(done, "--output v.db: is the database of this call; name another place")


def test_a_report_replaces_a_report_and_an_empty_file(place: Path, run: Run) -> None:
    (place / "empty.md").touch()
    for output in ("new.md", "new.md", "empty.md", "data/new.csv", "data/new.csv", "data/mine/notes.txt"):
        done = run("report", "small", "--db", "v.db", "-o", output)
        assert done.code == 0 and (place / output).read_text().startswith("Experiment small"), (output, done)


def test_the_files_of_the_call_are_named(place: Path, run: Run) -> None:
    errors = {
        "v.db": "--output v.db: is the database of this call; name another place",
        "v.db-journal": "--output v.db-journal: belongs to the database v.db of this call; name another place",
        "conf/own.py": "--output conf/own.py: belongs to the experiment 'small' of v.db; name another place",
        "other.db": "--output other.db: is a database; name another place",
        "adv.jsonl": "--output adv.jsonl: is there already, and .jsonl is no report; name another place",
    }
    for output, message in errors.items():
        assert run("report", "small", "--db", "v.db", "-o", output).err == f"hashbench: {message}\n"
    done = run("report", "claims", "small", "--db", "v.db", "--claims-file", "conf/claims.csv", "-o", "conf/claims.csv")
    assert done.err == "hashbench: --output conf/claims.csv: is an input of this call; name another place\n"


def test_files_are_found_from_another_folder(place: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "elsewhere").mkdir()
    monkeypatch.chdir(place / "elsewhere")
    for victim in ("data/mine/first.csv", "data/mine/test.csv", "conf/claims.csv", "conf/parts/own_coder.py"):
        done = run("report", "small", "--db", "../v.db", "-o", f"../{victim}")
        assert (done.code, (place / victim).read_text()) == (2, FILES[victim]), (victim, done)


def test_a_store_is_not_exported_onto_itself_nor_beside_an_open_log(place: Path, run: Run) -> None:
    done = run("db", "export", "v.db", "--db", "v.db", "--replace")
    assert done.err == "hashbench: db export v.db: is the database of this call; name another place\n"
    (place / "new.db-wal").write_text("a log")
    done = run("db", "export", "new.db", "--db", "v.db")
    assert done.code == 2 and "new.db: new.db-wal is beside it" in done.err and not (place / "new.db").exists()


def test_a_database_gets_no_name_of_a_part_of_one(place: Path, run: Run) -> None:
    done = run("report", "small", "--db", "w.db-wal")
    assert done.err == (
        "hashbench: w.db-wal: is a name that SQLite gives to a part of a database; name another database\n"
    )


def test_init_keeps_a_schema_of_another_kind(place: Path, run: Run) -> None:
    (place / "hashbench.schema.json").write_text('{"title": "my own"}')
    done = run("init", "mine")
    assert done.code == 2 and "is no schema of hashbench" in done.err and not (place / "mine.yaml").exists()
    (place / "hashbench.schema.json").unlink()
    assert run("init", "mine").code == 0 and run("init", "second").code == 0


@pytest.mark.parametrize("content", [b"\x89PNG\r\n\x00", b"PAR1\x00", b"caf\xe9 au lait"])
def test_a_report_replaces_no_bytes_that_are_no_text(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "file").write_bytes(content)
    assert no_report(tmp_path / "file") == "is there already, and is no text"


@pytest.mark.parametrize("ending", sorted((READERS.keys() | {".parquet"}) - {".csv", ".json"}))
def test_a_report_replaces_no_file_of_a_format_of_data_alone(tmp_path: Path, ending: str) -> None:
    (tmp_path / f"mine{ending}").write_text("a text\n")
    assert no_report(tmp_path / f"mine{ending}") == f"is there already, and {ending} is no report"


@pytest.mark.parametrize("write", [replace_text, lambda path, text: atomic_write(path).__enter__()])
def test_no_other_writer_replaces_a_database(place: Path, write: Callable[[Path, str], object]) -> None:
    (place / "link.json").symlink_to("v.db")
    with pytest.raises(InputError, match="v.db: is a database, which nothing else replaces"):
        write(place / "link.json", "{}")


NAMES = st.text(st.sampled_from("ab.-*[]?"), min_size=1, max_size=6).filter(lambda name: name.strip("."))


@given(NAMES, st.sampled_from(["", "-wal", "-shm", "-journal", ".saved-1", ".saved-12"]), st.booleans())
def test_whatever_a_database_is_called_its_parts_belong_to_it(name: str, end: str, above: bool) -> None:
    database = Path("folder") / name
    assert belongs_to(Path(f"folder/../folder/{name}{end}" if above else f"folder/{name}{end}"), database)
    assert not belongs_to(Path(f"folder/{name}{end}.md"), database)
    assert not belongs_to(Path(f"other/{name}{end}"), database)


@given(st.sampled_from(sorted(FILES)), st.sampled_from(["db", "databases", "data", "on", "overrides", "names"]))
def test_what_another_parameter_names_is_an_input(name: str, parameter: str) -> None:
    here = Path(__file__)
    given_values = {"output": here, parameter: [f"{name}=1", str(here)]}
    with pytest.raises(InputError, match=r"is (an input|the database) of this call"):
        refuse_inputs({"output": Writes("--output")}, given_values)
