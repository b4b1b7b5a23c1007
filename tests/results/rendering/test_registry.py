"""The formats that there are, and one of one's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from hashbench.common.errors import InputError
from hashbench.results.rendering.registry import render, renderers
from hashbench.results.tables.table import Table

TOY = """
from hashbench.results.rendering.registry import Renderer
RENDERERS = (Renderer("titles", lambda tables, width, color: "".join(f"{table.title}\\n" for table in tables)),)
"""


def test_five_formats_in_the_order_of_their_use() -> None:
    assert list(renderers()) == ["text", "md", "csv", "json", "latex"]


def test_an_unknown_format_is_one_clear_line() -> None:
    with pytest.raises(InputError, match=r"^--format: no format 'jsn'; did you mean 'json'\?; there are: text, md,"):
        render([], "jsn")


def test_a_file_of_ones_own_is_a_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "toy.py").write_text(TOY)
    monkeypatch.setenv("HASHBENCH_PLUGINS", str(tmp_path))
    assert render([Table("", "own", "A title", "e", (), ())], "titles") == "A title\n"
