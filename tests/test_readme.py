"""The README must stay true: its commands exist, its examples load, its embedding passes the contract."""

import re
import shlex
from pathlib import Path

import pytest
import typer

from hashbench.cli.app import app
from hashbench.cli.check import check_embedding
from hashbench.experiment.load import load_experiment
from hashbench.experiment.models import resolve_models

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"

pytestmark = pytest.mark.skipif(not README.is_file(), reason="no README beside the tests")


def text() -> str:
    return README.read_text()


def blocks() -> list[str]:
    """The indented code blocks, without their indentation."""
    found, current = [], []
    for line in text().splitlines():
        if line.startswith("    ") or (current and not line.strip()):
            current.append(line[4:])
        elif current:
            found.append("\n".join(current).strip("\n"))
            current = []
    return found


def commands() -> list[list[str]]:
    """Every `hashbench ...` of the README, in code blocks and in the text."""
    lines = [line.split("#")[0] for block in blocks() for line in block.splitlines() if line.startswith("hashbench ")]
    lines += [span for span in re.findall(r"`(hashbench [^`]+)`", text())]
    return [shlex.split(line) for line in lines]


def test_every_command_of_the_readme_exists():
    known = typer.main.get_command(app).commands
    assert len(commands()) > 8
    for words in commands():
        assert words[1].lstrip("-") == "help" or words[1] in known, words


def test_every_experiment_file_of_the_readme_exists():
    named = {word for words in commands() for word in words if word.startswith("experiments/")}
    assert "experiments/quickstart.yaml" in named
    for name in named:
        assert (ROOT / name).is_file(), name


def test_every_command_line_of_the_readme_can_be_parsed():
    """Options and their number of values, as the program reads them; nothing is carried out."""
    group = typer.main.get_command(app)
    for words in commands():
        if words[1].startswith("-"):
            continue
        command, rest = group, words[1:]
        while hasattr(command, "resolve_command"):
            _, command, rest = command.resolve_command(command.context_class(command), rest)
        command.make_parser(command.context_class(command)).parse_args(list(rest))  # raises for an unknown option


def test_the_first_own_experiment_loads(tmp_path):
    block = next(block for block in blocks() if block.startswith("name: mine"))
    (tmp_path / "mine.yaml").write_text(block)
    loaded = load_experiment(tmp_path / "mine.yaml")
    assert list(resolve_models(loaded)) == ["bert-mlm", "hashformer-lsh-proj", "proj-256"]


def test_the_first_own_embedding_passes_the_contract(tmp_path, capsys):
    block = next(block for block in blocks() if block.startswith("# my_file.py"))
    code = block[: block.index("models: [bert-mlm")]
    (tmp_path / "my_file.py").write_text(code)
    assert check_embedding(f"{tmp_path / 'my_file.py'}:SignedSum", "md5-bits"), capsys.readouterr().out


def test_the_first_own_embedding_fits_an_experiment(tmp_path):
    block = next(block for block in blocks() if block.startswith("# my_file.py"))
    code, models = block[: block.index("models: [bert-mlm")], block[block.index("models: [bert-mlm") :]
    (tmp_path / "my_file.py").write_text(code)
    (tmp_path / "own.yaml").write_text(f"name: own\nencoder: tiny\n{models}\n")
    assert list(resolve_models(load_experiment(tmp_path / "own.yaml"))) == ["bert-mlm", "signed-sum"]


def test_the_tree_names_every_room():
    for room in (ROOT / "hashbench").iterdir():
        if room.is_dir() and (room / "__init__.py").is_file():
            assert f"      {room.name}/" in text(), room.name
