"""One registry for all kinds: double names, plug-ins of packages and of HASHBENCH_PLUGINS, broken plug-ins."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hashbench.common import registry
from hashbench.common.errors import InputError
from hashbench.common.own_files import import_file
from hashbench.common.registry import KINDS, make, own_name, registered
from hashbench.models.embeddings.registry import find_model, models
from hashbench.scores.base import find_metric
from tests.parsed import tree_of

# What a file of each kind holds, NAME in place of the name, and a name that the suite has.
FILES = {
    "model": (
        "from hashbench.models.embeddings.base import EmbeddingSpec, ModelSpec\n"
        "from hashbench.models.embeddings.lookup import LookupTable\n"
        "MODELS = [ModelSpec('NAME', EmbeddingSpec(LookupTable))]\n",
        "bert-mlm",
    ),
    "coder": (
        "from hashbench.models.coders.md5 import Md5Bits\nclass Mine(Md5Bits):\n    name = 'NAME'\n",
        "md5-bits",
    ),
    "tokenizer": (
        "from hashbench.models.text.words import WordTokenizer\nclass Mine(WordTokenizer):\n    kind = 'NAME'\n",
        "words",
    ),
    "encoder": ("from hashbench.models.encoders.mean import ARCHITECTURES as X\nA = X['plain']\n"
                "import dataclasses\nARCHITECTURES = {'NAME': dataclasses.replace(A)}\n", "bert"),
    "objective": (
        "import dataclasses\nfrom hashbench.models.objectives.mlm import OBJECTIVE as O\n"
        "OBJECTIVE = dataclasses.replace(O, name='NAME')\n",
        "mlm",
    ),
    "head": (
        "from hashbench.models.objectives.heads import TaggingHead as H\nclass Mine(H):\n    name = 'NAME'\n",
        "tagging",
    ),
    "task": (
        "import dataclasses\nfrom hashbench.data.tasks.named.public import TASKS as OTHERS\n"
        "TASKS = [dataclasses.replace(OTHERS[0], name='NAME')]\n",
        "cola",
    ),
    "group of tasks": ("GROUPS = {'NAME': ('cola', 'rte')}\n", "glue"),
    "kind of task": (
        "from hashbench.data.tasks.kinds.classification import Classification\n"
        "class Mine(Classification):\n    name = 'NAME'\nKIND = Mine()\n",
        "classification",
    ),
    "metric": (
        "from hashbench.scores.classes import Accuracy as A\nclass Mine(A):\n    name = 'NAME'\nMETRICS = [Mine()]\n",
        "accuracy",
    ),
    "perturbation": (
        "from hashbench.data.perturbations.base import Perturbation\n"
        "PERTURBATIONS = [Perturbation('NAME', 'words', str)]\n",
        "swap",
    ),
    "kind of run": (
        "from hashbench.running.runs.baseline import TrivialBaseline\n"
        "class Mine(TrivialBaseline):\n    name = 'NAME'\nKIND = Mine()\n",
        "finetune",
    ),
    "table": (
        "from hashbench.results.tables.request import TableFile\nTABLE = TableFile('NAME', 'words', list)\n",
        "links",
    ),
    "figure": ("from hashbench.results.plots.base import Plot\nPLOT = Plot('NAME', 'words', list)\n", "pareto"),
    "format": (
        "from hashbench.results.rendering.registry import Renderer\nRENDERERS = [Renderer('NAME', str)]\n",
        "csv",
    ),
    "executor": (
        "from hashbench.running.sweep.executors import ExecutorSpec\n"
        "EXECUTORS = [ExecutorSpec('NAME', 'nowhere:Nothing')]\n",
        "ray",
    ),
}  # fmt: skip


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Path]:
    """A function that installs a package of one module, whose entry point names it; gives the module's file."""
    folder = tmp_path / "site"
    monkeypatch.syspath_prepend(str(folder))

    def install(name: str, text: str) -> Path:
        described = folder / f"{name}-1.0.dist-info"
        described.mkdir(parents=True)
        (described / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (described / "entry_points.txt").write_text(f"[{registry.GROUP}]\nmine = {name}\n")
        (folder / f"{name}.py").write_text(text)
        monkeypatch.setattr(registry, "_registered", {})
        monkeypatch.setattr(registry, "_unreadable", {})
        return folder / f"{name}.py"

    yield install
    for module in [name for name in sys.modules if (folder / f"{name}.py").is_file()]:
        del sys.modules[module]


def test_every_kind_has_a_file_here() -> None:
    assert set(FILES) == set(KINDS)


@pytest.mark.parametrize("what", FILES)
def test_a_double_name_names_both_files(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text, name = FILES[what]
    (tmp_path / "mine.py").write_text(text.replace("NAME", name))
    monkeypatch.setenv("HASHBENCH_PLUGINS", str(tmp_path))
    with pytest.raises(InputError) as error:
        registered(what)
    message = str(error.value)
    package = Path(registry.__file__).parents[1]
    assert message.startswith(f"{tmp_path / 'mine.py'}: {what} {name!r} is already in {package}")
    assert message.endswith(".py; rename one of them") and "\n" not in message


@pytest.mark.parametrize("what", FILES)
def test_a_plug_in_joins_by_folder_by_file_and_by_entry_point(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: Callable[[str, str], Path]
) -> None:
    for number in (1, 2):
        (tmp_path / f"{number}").mkdir()
        (tmp_path / f"{number}" / "mine.py").write_text(FILES[what][0].replace("NAME", f"new-{number}"))
    places = os.pathsep.join([str(tmp_path / "1"), str(tmp_path / "2" / "mine.py")])
    monkeypatch.setenv("HASHBENCH_PLUGINS", places)
    installed("hashbench_mine", FILES[what][0].replace("NAME", "new-3"))
    before = len(registered(what)) - 3
    assert before > 0 and list(registered(what))[before:] == ["new-3", "new-1", "new-2"]


def test_two_plug_ins_of_one_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: Callable[[str, str], Path]
) -> None:
    other = installed("hashbench_mine", FILES["table"][0].replace("NAME", "new"))
    (tmp_path / "mine.py").write_text(FILES["table"][0].replace("NAME", "new"))
    monkeypatch.setenv("HASHBENCH_PLUGINS", str(tmp_path / "mine.py"))
    with pytest.raises(InputError, match=f"mine.py: table 'new' is already in {other}; rename one of them"):
        registered("table")
    assert "accuracy" in registered("metric"), "which do not use it"


def test_one_file_of_several_kinds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = ("coder", "model", "metric", "kind of task")
    (tmp_path / "mine.py").write_text(
        "".join(FILES[what][0].replace("NAME", "new").replace("Mine", f"Mine{len(what)}") for what in kinds)
    )
    monkeypatch.setenv("HASHBENCH_PLUGINS", str(tmp_path))
    assert all("new" in registered(what) for what in kinds)
    assert "new" not in registered("kind of run")


def test_a_kind_of_the_suite_may_be_imported_by_a_plug_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = list(registered("kind of task"))
    (tmp_path / "mine.py").write_text("from hashbench.data.tasks.kinds.classification import KIND\n")
    monkeypatch.setenv("HASHBENCH_PLUGINS", str(tmp_path))
    assert list(registered("kind of task")) == own and "classification" in own


@pytest.mark.parametrize("place", ["nowhere", "notes.txt"])
def test_a_place_that_is_no_plug_in(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "notes.txt").write_text("")
    monkeypatch.setenv("HASHBENCH_PLUGINS", str(tmp_path / place))
    with pytest.raises(InputError, match=rf"^HASHBENCH_PLUGINS: '.*{place}' is no folder or Python file; name those "):
        models()


def test_a_broken_plug_in_is_one_line_and_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "broken.py").write_text("1 / 0\n")
    (tmp_path / "whole.py").write_text(FILES["metric"][0].replace("NAME", "new"))
    monkeypatch.setenv("HASHBENCH_PLUGINS", str(tmp_path))
    reason = f"{tmp_path / 'broken.py'}: cannot be imported: ZeroDivisionError: division by zero; correct the file"
    assert find_model("bert-mlm").name == "bert-mlm" and find_metric("new").name == "new"
    assert capsys.readouterr().err == f"{reason}; what it defines is left out\n"
    with pytest.raises(InputError) as error:
        find_model("mine")
    assert str(error.value).endswith(f"(list: hashbench models); not read: {reason}")
    monkeypatch.delenv("HASHBENCH_PLUGINS")
    with pytest.raises(InputError, match=r"\(list: hashbench models\)$"):
        find_model("mine")


EXPORTS = {what: kind.export for what, kind in KINDS.items() if kind.export}
THING = "class Thing:\n    name = kind = 'thing'\n"


@pytest.mark.parametrize("what", EXPORTS)
@pytest.mark.parametrize(
    "form", ["[Thing()]", "{'thing': Thing()}", "Thing()", "[Thing]", "[3, None]", "7", "[GOOD, Thing()]"]
)
def test_a_thing_of_another_class_is_one_line_and_stops_nothing(
    what: str, form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    export, text = EXPORTS[what], ""
    if "GOOD" in form:  # beside a right one, which stays
        text = FILES[what][0].replace("NAME", "right")
        form = (
            f"{{**{export}, 'thing': Thing()}}"
            if what in ("encoder", "group of tasks")
            else (f"[*({export} if isinstance({export}, list) else [{export}]), Thing()]")
        )
    path = tmp_path / "mine.py"
    path.write_text(f"{THING}{text}\n{export} = {form}\n")
    monkeypatch.setenv("HASHBENCH_PLUGINS", str(path))
    names = set(registered(what))
    assert ("right" in names) == bool(text) and "thing" not in names
    bases = [kind.base.rpartition(":")[2] for kind in KINDS.values() if kind.export == export]
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == (2 if form == "[3, None]" else 1)
    for line in lines:
        assert line.startswith(f"{path}: {export}") and line.endswith("; see docs/extend.md; it is left out")
        assert f"no {' or '.join(bases)};" in line or f"no object of {' or '.join(bases)};" in line
    assert len(registered("table")) > 3 and capsys.readouterr().err == "", "said once"


@pytest.mark.parametrize(("what", "method"), [("coder", "encode_utf8"), ("tokenizer", "tokenize")])
def test_a_class_without_what_its_kind_needs_is_one_line_and_stops_nothing(
    what: str, method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    base = KINDS[what].base.rpartition(":")[2]
    (tmp_path / "mine.py").write_text(
        f"from hashbench.extend import {base}\nclass Mine({base}):\n    {KINDS[what].key} = 'mine'\n"
    )
    monkeypatch.setenv("HASHBENCH_PLUGINS", str(tmp_path))
    assert "mine" not in registered(what) and registered("metric")
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{tmp_path / 'mine.py'}: {what} 'mine': the class has no ") and f"no {method}" in line
    with pytest.raises(
        InputError, match=f"unknown {KINDS[what].key} 'mine'.*not read: .*mine.py: {what} 'mine': the class"
    ):
        make(what, "mine", {})


@pytest.mark.parametrize("name", ["None", "3", "''", "['a']"])
@pytest.mark.parametrize("what", ["metric", "coder"])
def test_a_name_that_is_no_text_is_one_line(
    what: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.py").write_text(FILES[what][0].replace("'NAME'", name))
    monkeypatch.setenv("HASHBENCH_PLUGINS", str(tmp_path))
    assert all(isinstance(each, str) and each for each in registered(what))
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith(f"name is {name}; give it a text; it is left out")


@pytest.mark.parametrize("what", KINDS)
def test_a_base_is_known_by_the_place_of_its_definition(what: str) -> None:
    """Else nothing would be of the kind."""
    base = KINDS[what].base_class()
    assert f"{base.__module__}:{base.__qualname__}" == KINDS[what].base


def test_a_broken_entry_point_is_one_line(
    installed: Callable[[str, str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    installed("hashbench_broken", "import no_such_package\n")
    assert "accuracy" in registered("metric")
    assert capsys.readouterr().err.startswith(
        "plug-in mine (hashbench_broken): cannot be imported: ModuleNotFoundError: No module named 'no_such_package'; "
    )


def test_a_plug_in_may_look_up_a_kind_while_it_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "from hashbench.common.registry import registered\nassert 'accuracy' in registered('metric')\n"
    (tmp_path / "mine.py").write_text(text + FILES["metric"][0].replace("NAME", "new"))
    monkeypatch.setenv("HASHBENCH_PLUGINS", str(tmp_path))
    assert "new" in registered("metric")


def test_a_user_defined_file_is_named_by_its_content(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("x = 1\n")
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "mine.py").write_text("x = 1\n")
    assert import_file(tmp_path / "mine.py") is import_file(tmp_path / "copy" / "mine.py")


def test_an_object_of_an_edited_file_is_another_thing_in_recipes(tmp_path: Path) -> None:
    names = []
    for number in (1, 2):
        text = f"from hashbench.extend import Coder\nclass Mine(Coder):\n    kind = 'mine'\n    number = {number}\n"
        (tmp_path / "mine.py").write_text(text + "    def encode_utf8(self, data, offsets):\n        return data\n")
        names.append(own_name("mine.py:Mine", tmp_path, registry.KINDS["coder"].base_class(), "coder"))
        coder = make("coder", names[-1], {})
        assert (getattr(coder, KINDS["coder"].key), coder.number) == (names[-1], number)
    assert names[0] != names[1]


def test_a_file_of_equal_size_and_time_is_run_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python takes kept compiled code for that of a file by its size and time of change alone."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    for number in (1, 2):
        (tmp_path / "mine.py").write_text(f"number = {number}\n")
        os.utime(tmp_path / "mine.py", (1e9, 1e9))
        assert import_file(tmp_path / "mine.py").number == number
    assert [path.name for path in tmp_path.iterdir()] == ["mine.py"]


def test_nothing_is_looked_up_while_the_suite_is_imported() -> None:
    """A plug-in would be imported by what it imports itself."""
    package = Path(registry.__file__).parents[1]
    lookups = ("registered", "perturbations", "metrics", "models", "known_kinds", "known_tasks", "kinds", "coders")
    early = []
    for path in package.rglob("*.py"):
        waiting: list[ast.AST] = list(tree_of(path).body)
        while waiting:
            node = waiting.pop()
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in lookups:
                early.append(f"{path.relative_to(package)}:{node.lineno}")
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                waiting += ast.iter_child_nodes(node)
    assert early == []


def test_a_class_is_known_where_an_equal_file_of_another_name_was_imported(tmp_path: Path) -> None:
    text = "from hashbench.extend import Coder\nclass Copied(Coder):\n    def encode_utf8(self, data, offsets): ...\n"
    for name in ("mine.py", "embedding.py"):
        (tmp_path / name).write_text(text)
    base = registry.KINDS["coder"].base_class()
    first = own_name("mine.py:Copied", tmp_path, base, "coder")
    assert own_name("embedding.py:Copied", tmp_path, base, "coder") == first
    assert own_name("mine.py:Copied", tmp_path, base, "coder") == first
