"""No file compares with the name of a coder, tokenizer, encoder or objective: what sets one apart is its attribute.

Only the file that registers a name, and the files of models, which are specs, may.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import hashbench
from hashbench.common.registry import modules_of
from hashbench.models.coders.base import coders
from hashbench.models.text.base import tokenizers
from tests.parsed import tree_of

PACKAGE = Path(hashbench.__file__).parent
# Why a comparison stands elsewhere, by file and name.
EXCEPTED = {
    ("running/efficiency/sizes.py", "proformer"): "the printed arithmetic of one paper's encoder",
    ("running/efficiency/sizes.py", "bert"): "the printed arithmetic of the encoder that it is compared with",
}
# Names that results have for something else; the folders that know encoders are still looked through.
OTHERWISE = {"average": "results/"}  # the column over tasks


def place_of(module: str) -> str:
    """The file of a module, below the package."""
    return module.removeprefix("hashbench.").replace(".", "/") + ".py"


@pytest.fixture(scope="module")
def registered() -> dict[str, set[str]]:
    """Each registered name with the files that register something under it."""
    files: dict[str, set[str]] = defaultdict(set)
    for name, entry in [*coders().items(), *tokenizers().items()]:
        files[name].add(place_of(entry.__module__))
    for module in modules_of("hashbench.models.encoders"):
        for name in getattr(module, "ARCHITECTURES", {}):
            files[name].add(place_of(module.__name__))
    for module in modules_of("hashbench.models.objectives"):
        if (objective := getattr(module, "OBJECTIVE", None)) is not None:
            files[objective.name].add(place_of(module.__name__))
    return files


def compared(tree: ast.AST) -> Iterator[str]:
    """The string constants that something is compared with: by ==, by `in` a tuple, a list or a set, by `case`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
        elif isinstance(node, ast.MatchValue):
            sides = [node.value]
        else:
            continue
        for side in sides:
            parts = side.elts if isinstance(side, ast.Tuple | ast.List | ast.Set) else [side]
            yield from (part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str))


def test_no_file_compares_with_a_registered_name(registered: dict[str, set[str]]) -> None:
    elsewhere = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE).as_posix()
        names = {name for name in compared(tree_of(path)) if name in registered}
        names = {name for name in names if place not in registered[name] and (place, name) not in EXCEPTED}
        names = {name for name in names if not place.startswith(OTHERWISE.get(name, "nowhere"))}
        if names and not place.startswith("models/embeddings/"):
            elsewhere[place] = sorted(names)
    assert elsewhere == {}


def test_the_exceptions_are_needed() -> None:
    trees = {place: tree_of(PACKAGE / place) for place, _ in EXCEPTED}
    assert [each for each in EXCEPTED if each[1] not in compared(trees[each[0]])] == []


def test_names_of_all_four_registries_are_looked_for(registered: dict[str, set[str]]) -> None:
    for name, place in (
        ("bloom", "models/coders/bloom.py"),
        ("words", "models/text/words.py"),
        ("mlm", "models/objectives/mlm.py"),
    ):
        assert registered[name] == {place}
    assert registered["canine"] == {"models/encoders/canine.py"}


@pytest.mark.parametrize(
    "code",
    ["kind == 'a'", "'a' != kind", "kind in ('a', 'b')", "kind not in {'a'}", "match kind:\n    case 'a': pass"],
)
def test_comparisons_are_seen(code: str) -> None:
    assert "a" in set(compared(ast.parse(code)))


@pytest.mark.parametrize("code", ["kind = 'a'", "make('a')", "{'a': 1}[kind]", "'''a'''"])
def test_what_is_no_comparison_is_left_alone(code: str) -> None:
    assert not set(compared(ast.parse(code)))
