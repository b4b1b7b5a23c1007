"""running/runs/base.py: the kinds of run, and that nothing else knows them by name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import hashbench
from hashbench.common.errors import InputError
from hashbench.running.runs.base import RunKind, TrainingKind, kinds, names

PACKAGE = Path(hashbench.__file__).parent
# What reads results must not import what trains. It meets the kinds as words of stored rows, which one file names.
# store/kinds.py: of databases that are older than what it reads
EXEMPT = ("store/migrations", "store/views.py", "store/kinds.py", "results/read/runs.py")


def named_kinds(tree: ast.AST, known: set[str]) -> Iterator[tuple[int, str]]:
    """Line and word where code asks for a kind of run by name.

    These are comparisons of a kind (a tuple of names to be in counts too), patterns of `match`, values of arguments and
    keys called kind or kinds, and tables of several kinds. The same words as keys of the experiment file are not.
    """
    for node in ast.walk(tree):
        places: list[ast.AST] = []
        if isinstance(node, ast.Compare) and "kind" in ast.unparse(node):
            places = [node.left, *node.comparators]
        elif isinstance(node, ast.MatchValue):
            places = [node.value]
        elif isinstance(node, ast.keyword) and node.arg in ("kind", "kinds"):
            places = [node.value]
        elif isinstance(node, ast.Dict):
            keys = [key.value for key in node.keys if isinstance(key, ast.Constant)]
            is_table = len(known & set(keys)) > 2
            of_kind = [v for k, v in zip(node.keys, node.values, strict=True) if getattr(k, "value", None) == "kind"]
            places = [*of_kind, *([key for key in node.keys if key] if is_table else [])]
        elif isinstance(node, ast.Tuple | ast.List | ast.Set):
            places = [node] if len(known & {getattr(each, "value", None) for each in node.elts}) > 2 else []
        for place in places:
            parts = place.elts if isinstance(place, ast.Tuple | ast.List | ast.Set) else [place]
            for part in parts:
                if isinstance(part, ast.Constant) and part.value in known:
                    yield part.lineno, str(part.value)


def test_no_kind_of_run_is_asked_for_by_name() -> None:
    known, paths = set(kinds()), sorted(PACKAGE.rglob("*.py"))
    assert len(known) > 3 and len(paths) > 100
    for path in paths:
        name = path.relative_to(PACKAGE).as_posix()
        if not name.startswith(EXEMPT):
            assert list(named_kinds(ast.parse(path.read_text()), known)) == [], name


@pytest.mark.parametrize(
    "code",
    [
        "if run.kind == 'finetune': pass",
        "if run.kind in ('pretrain', 'finetune'): pass",
        "match run.kind:\n    case 'floor': pass",
        "claim(kinds=['efficiency'])",
        "DOERS = {'pretrain': 1, 'finetune': 2, 'robustness': 3}",
        "spec = {'kind': 'floor'}",
    ],
)
def test_the_test_above_finds_names(code: str) -> None:
    assert list(named_kinds(ast.parse(code), set(kinds())))


def test_the_kinds_stand_in_the_order_of_the_plan() -> None:
    trained = ("pretrain", "floor", "finetune", "entities", "evaluation-pairs", "robustness")
    assert list(kinds()) == [*trained, "efficiency", "evaluation", "evaluation-floor", "evaluation-imported"]
    assert names(measures_time=True) == ("efficiency",)
    assert names(measures_time=False) == trained


def test_two_kinds_of_one_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "again.py").write_text(
        "from hashbench.running.runs.baseline import TrivialBaseline\nKIND = TrivialBaseline()\n"
    )
    monkeypatch.setenv("HASHBENCH_PLUGINS", str(tmp_path))
    with pytest.raises(InputError, match=r"again\.py: kind of run 'floor' is already in .*baseline\.py; rename "):
        kinds()


def test_every_kind_of_the_suite_gives_signs_of_progress_and_others_need_not() -> None:
    assert all(kind.gives_signs for kind in kinds().values() if type(kind).__module__.startswith("hashbench."))
    assert not RunKind.gives_signs and not TrainingKind.gives_signs
