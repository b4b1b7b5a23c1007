"""Classes with all that they use, as one file."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from hashbench.common.errors import InputError
from hashbench.common.own_files import import_file
from hashbench.common.registry import registered
from hashbench.deployment.bundle import Bundle, bundled
from hashbench.deployment.module_names import check_closed, undefined
from hashbench.models.coders.base import Coder
from hashbench.models.embeddings.base import Batch
from hashbench.models.embeddings.eelbert import HashInitTable, NgramHash
from hashbench.models.embeddings.hashformer import Projection
from hashbench.models.embeddings.multi_hash import MultiHash
from hashbench.models.embeddings.pqrnn import TernaryDense
from hashbench.models.encoders.bert import BertEncoder
from hashbench.models.encoders.canine import CanineEncoder
from hashbench.models.objectives.heads import ClassificationHead
from hashbench.running.training.model import Model

FUTURE = "from __future__ import annotations\n"
FAMILIES = dict.fromkeys(family for spec in registered("model").values() for family in spec.embedding.families())


def run(bundle: Bundle, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The names of a bundled file that was run."""
    alone = ModuleType("alone")
    monkeypatch.setitem(sys.modules, "alone", alone)  # dataclasses look there
    exec(compile(FUTURE + bundle.source, "alone.py", "exec"), alone.__dict__)
    return vars(alone)


def own_file(folder: Path, text: str, name: str = "mine") -> ModuleType:
    path = folder / f"{name}.py"
    path.write_text(text)
    return import_file(path)


@pytest.mark.parametrize("roots", [[Projection, BertEncoder], [NgramHash, CanineEncoder]])
def test_a_bundle_runs_alone(roots: list, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = bundled(roots, "a model")
    assert "import hashbench" not in bundle.source and "from hashbench" not in bundle.source
    assert run(bundle, monkeypatch)[roots[0].__name__].__module__ == "alone"


@pytest.mark.parametrize("encoder", registered("encoder").values(), ids=registered("encoder"))
def test_nothing_is_missing_for_any_family_under_any_encoder(encoder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """All families in one file, which has more names that meet than any exported one."""
    shape = type(next(iter(encoder.sizes.values())))
    roots = [Model, Batch, ClassificationHead, encoder.build, shape, *FAMILIES]
    bundle = bundled(roots, "a model")
    check_closed(FUTURE + bundle.source, "all.py", "a model")
    made = run(bundle, monkeypatch)
    assert bundle.names[:3] == ("Model", "Batch", "ClassificationHead")
    assert [made[name].__doc__ for name in bundle.names] == [root.__doc__ for root in roots]


def test_what_makes_codes_stays_behind_and_refuses_to_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    made = run(bundled([NgramHash], "a model"), monkeypatch)
    with pytest.raises(NotImplementedError, match="NgramPooling makes codes or tokens in hashbench alone"):
        made["NgramPooling"]()
    assert not issubclass(made["NgramPooling"], Coder)


def test_a_function_beside_a_coder_comes_along(monkeypatch: pytest.MonkeyPatch) -> None:
    made = run(bundled([MultiHash], "a model"), monkeypatch)
    assert made["table_rows"](100, ["norm", "suffix"]) == [100, 50]
    assert made["MultiHash"](4, 5).mix.weight.shape == (12, 4 * 96)


def test_two_meanings_of_a_name_get_two_names(monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = bundled([HashInitTable], "a model")
    made = run(bundle, monkeypatch)
    assert {made["VOCABULARY_ROWS"], made["VOCABULARY_ROWS_eelbert"]} == {50_265, 30_522}
    assert made["HashInitTable"](2).weight.shape == (30_522, 2)


def test_a_name_that_a_statement_binds_beside_the_one_that_is_used_has_a_meaning_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """START is a row in the base of families, and a number in `PIECES, START, WIDTH = ...` of another file."""
    made = run(bundled([MultiHash, TernaryDense], "a model"), monkeypatch)
    assert (made["START"], made["START_base"], made["END"]) == (0.1, 0, 2)


OWN = """
from hashbench.extend import SPECIALS, Embedding
from hashbench.models.embeddings.rows import HashedRows as Rows
import torch.nn as nn
import os.path, os

WIDTH = 3
WIDTH += 1  # wider
try:
    import quicker as quick
except ImportError:
    quick = None

class Model(Embedding):
    size: "Nothing" = WIDTH
    def __init__(self, dim: int):
        from hashbench.models.embeddings.base import folded, PAD as pad
        super().__init__()
        self.rows, self.pad, self.folded = Rows(7, dim), pad, folded
        self.last, self.quick = nn.Linear(dim, WIDTH), quick
        self.special, self.place = len(SPECIALS), os.path.join("a", os.sep)
"""


def test_a_file_of_ones_own_is_followed_through_all_of_its_imports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its class has the name of one of hashbench's, which keeps it."""
    mine = own_file(tmp_path, OWN)
    bundle = bundled([Model, mine.Model], "mine")
    check_closed(FUTURE + bundle.source, "all.py", "mine")
    made = run(bundle, monkeypatch)
    assert bundle.names[0] == "Model" and bundle.names[1].startswith("Model_hashbench_own_mine_")
    model = made[bundle.names[1]](2)
    assert (model.last.out_features, model.pad, model.special, model.quick) == (4, 1, 5, None)
    assert type(model.rows).__module__ == "alone" and model.folded.__module__ == "alone"


CLASH = """
from hashbench.extend import Embedding
SIZES = {use}
def inside():
    SIZES = 2
    return SIZES
class Mine(Embedding):
    sizes = SIZES, inside()
"""


def test_a_name_that_cannot_be_replaced_is_refused(tmp_path: Path) -> None:
    other = own_file(tmp_path, "SIZES = 1\nclass Other:\n    sizes = SIZES\n", "other")
    mine = own_file(tmp_path, CLASH.format(use=3))
    with pytest.raises(
        InputError, match="a model: SIZES means two things .* of a function or class of .*mine.*; rename"
    ):
        bundled([other.Other, mine.Mine], "a model")


def test_a_module_that_is_imported_as_a_whole_is_refused(tmp_path: Path) -> None:
    lines = "from hashbench.models.embeddings import base\nclass Mine(base.Embedding): pass\n"
    with pytest.raises(InputError, match=r"imports hashbench.models.embeddings.base as a whole; import its names"):
        bundled([own_file(tmp_path, lines).Mine], "a model")
    lines = "import hashbench.models.embeddings.base as base\nclass Mine(base.Embedding): pass\n"
    with pytest.raises(InputError, match=r"imports hashbench.models.embeddings.base as a whole; import its names"):
        bundled([own_file(tmp_path, lines).Mine], "a model")


@pytest.mark.parametrize(
    ("source", "missing"),
    [
        ("def f():\n    return [g(x) for x in range(3)]", {"g"}),
        ("class A(B):\n    def f(self) -> C:\n        x: D = self.x\n        return x", {"B"}),
        ("def f(a=b):\n    def g():\n        return a, c\n    return g", {"b", "c"}),
        ("import a.b, c as d\nfrom e import f as g\nprint(a, d, g, c, f)", {"c", "f"}),
        ("try:\n    a = 1\nexcept ImportError as error:\n    a = error\nlambda: (a, e)", {"e"}),
        ("for i in range(3):\n    print(i, __name__, __file__)", set()),
    ],
)
def test_names_without_a_definition_are_found(source: str, missing: set[str]) -> None:
    assert undefined(FUTURE + source) == missing


def test_a_file_that_is_not_whole_is_refused() -> None:
    with pytest.raises(InputError, match="mine: a.py would lack gone; define or import them in a plain statement"):
        check_closed("def f():\n    return gone\n", "a.py", "mine")
    for line in ("from hashbench.extend import Coder", "import hashbench.extend", "import json, hashbench"):
        with pytest.raises(InputError, match="mine: a.py would import hashbench"):
            check_closed(f"def f():\n    {line}\n", "a.py", "mine")
    check_closed("from hashbench_other import Coder\nfrom .beside import b\nprint(Coder, b)\n", "a.py", "mine")
