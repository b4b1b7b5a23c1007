"""tests/mutants.py: what it draws is a fault of one line, and its verdict is that of the tests."""

import ast
from pathlib import Path

import pytest

from tests import mutants


@pytest.mark.parametrize("room", mutants.ROOMS)
def test_mutations_are_single_lines_of_valid_python(room: str) -> None:
    drawn = mutants.draw(room, seed=0)
    assert len(drawn) == mutants.EACH and drawn == mutants.draw(room, seed=0)
    for each in drawn:
        lines = (mutants.ROOT / each.file).read_text(encoding="utf-8").split("\n")
        assert lines[each.line] == each.before != each.after
        lines[each.line] = each.after
        ast.parse("\n".join(lines))


def test_a_mutation_is_caught_where_a_test_sees_it(tmp_path: Path) -> None:
    (tmp_path / "hashbench").mkdir()
    (tmp_path / "hashbench" / "__init__.py").touch()
    (tmp_path / "hashbench" / "toy.py").write_text("def half(n):\n    return n // 2\n")
    (tmp_path / "tests").mkdir()
    test = "from hashbench.toy import half\n\n\ndef test_half():\n    assert half({n}) == {half}\n"
    mutation = mutants.Mutation("hashbench/toy.py", 1, "    return n // 2", "    return n * 2")
    for n, half, expected in ((4, 2, True), (0, 0, False)):
        (tmp_path / "tests" / "test_toy.py").write_text(test.format(n=n, half=half))
        assert mutants.caught(tmp_path, mutation) is expected
    assert (tmp_path / "hashbench" / "toy.py").read_text().endswith("n // 2\n")
