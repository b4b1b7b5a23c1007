"""Writes what follows from the code: `keys.md` and `experiments/schema.json`, `commands.md` from the command line; and
tables of pages between marks, each by the command that the mark names, from `results.db.example`.

python docs/generate.py            # writes them
python docs/generate.py --check    # exit code 1 if they are not what the code and the database say
python docs/generate.py --figures  # draws the figures of the pages from results.db.example into images/
"""

from __future__ import annotations

import csv
import io
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any, get_args

import typer
from pydantic import BaseModel

from hashbench.cli.app import app
from hashbench.cli.check import schema
from hashbench.data.tasks.blocks import NameOf
from hashbench.results.plots.main import page_figures
from hashbench.results.tables.request import ReportRequest, ReportSource
from hashbench.running.experiment.schema import Experiment, fields_of
from hashbench.store.engine import open_store

DOCS = Path(__file__).parent
EXAMPLE = DOCS.parent / "results.db.example"
# Of images/: the experiment, the figure that draws it, the picture, and the models and trivial baselines (none: all)
FIGURES = {
    "glue_tiny": ("glue_tiny", "pareto", "pareto_parameters", ""),
    "pretraining_tiny": ("pretraining_tiny", "pretraining", "pretraining", ""),
    "embeddings": (
        "embeddings_tiny_common", "differences", "differences",
        "blt-average multihash blt k2-signs bpe lsh-proj bag-of-words hashed-words bag-of-pairs-2",
    ),
}  # fmt: skip

# In a page: the command whose table is written below it, and files of further columns, joined by their first one
MARK = re.compile(
    r"(?P<begin><!-- written from: hashbench (?P<command>[^\n;]+)(?P<beside>(?:; beside [^\n;]+)*) -->\n)"
    r".*?(?P<end><!-- end -->\n)",
    re.DOTALL,
)
BESIDE = re.compile(r"; beside (\S+): ([^;]+)")  # a CSV in docs/, and the names of its columns
PAGES = ("../README.md",)  # that have tables
SIGNS = re.compile(r"[*†‡§]|\\(?=_)")


def keys_page() -> str:
    """One table for each block of an experiment file."""
    lines = [
        "# All keys",
        "",
        "Every key of an experiment file, with its default. Where the default is `null`, the value follows from",
        "the model's objective and the encoder's size, or the key is off; the description says which.",
        "`hashbench check FILE` prints what a file resolves to, `hashbench schema` prints the keys as JSON Schema.",
    ]
    for name, block in blocks():
        lines += ["", f"## {name}", "", first_sentence(block), ""]
        lines += ["| key | type | default | meaning |", "|---|---|---|---|"]
        for key, field in fields_of(block).items():
            default = "required" if field.is_required() else f"`{plain(field.get_default(call_default_factory=True))}`"
            lines.append(f"| `{key}` | {type_name(field.annotation)} | {default} | {cell(field.description or '')} |")
    return "\n".join(lines) + "\n"


def blocks() -> Iterator[tuple[str, type[BaseModel]]]:
    """The experiment and each block in it, once, with the key that holds it."""
    seen: set[type[BaseModel]] = set()
    waiting: list[tuple[str, Any]] = [("The file", Experiment)]
    while waiting:
        name, annotation = waiting.pop(0)
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            if annotation in seen:
                continue
            seen.add(annotation)
            yield name, annotation
            waiting += [(f"`{key}`", field.annotation) for key, field in fields_of(annotation).items()]
        else:
            waiting[:0] = [(name, argument) for argument in get_args(annotation)]


def first_sentence(block: type[BaseModel]) -> str:
    return " ".join((block.__doc__ or "").split())


def type_name(annotation: Any) -> str:
    """A type as a reader of YAML names it."""
    if annotation is None or annotation is type(None):
        return "null"
    names = {int: "whole number", float: "number", str: "text", bool: "true or false"}
    if annotation in names:
        return names[annotation]
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "block"
    origin = getattr(annotation, "__origin__", None)
    arguments = [argument for argument in get_args(annotation) if argument is not Ellipsis]
    if origin is tuple:
        return "list of " + " or ".join(dict.fromkeys(type_name(argument) for argument in arguments))
    if origin is dict:
        return "mapping"
    if str(origin) == "typing.Literal":
        return " or ".join(f"`{value}`" for value in arguments)
    if hasattr(annotation, "__metadata__"):
        kinds = [mark for mark in annotation.__metadata__ if isinstance(mark, NameOf)]
        return " or ".join(f"`{name}`" for name in kinds[0].names()) if kinds else type_name(arguments[0])
    if arguments:
        return " or ".join(dict.fromkeys(type_name(argument) for argument in arguments))
    return "any value"


def plain(value: object) -> str:
    """A default as YAML writes it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"[{', '.join(plain(item) for item in value)}]"
    if isinstance(value, BaseModel):
        return "see the block"
    return str(value)


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def commands_page() -> str:
    """Each command with its arguments and options."""
    lines = [
        "# All commands",
        "",
        "`hashbench COMMAND --help` prints the same. Exit codes: 0 done, 1 some runs failed, 2 wrong input (one line",
        "says what, where and what to do), 129, 130, 138, 140 and 143 interrupted.",
    ]
    for path, command in commands(typer.main.get_command(app), "hashbench"):
        lines += ["", f"## {path}", "", *help_of(command)]
        shown = [parameter for parameter in command.params if not getattr(parameter, "hidden", False)]
        shown = [parameter for parameter in shown if parameter.name != "help"]
        if shown:
            lines += ["", "| argument or option | meaning |", "|---|---|"]
            lines += [f"| `{usage(parameter)}` | {meaning(parameter)} |" for parameter in shown]
    return "\n".join(lines) + "\n"


def commands(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Every command that does something, groups spelled out."""
    if not hasattr(command, "commands"):
        yield path, command
        return
    if command.callback is not None and command.invoke_without_command and path != "hashbench":
        yield path, command
    for name, inner in command.commands.items():
        if not inner.hidden:
            yield from commands(inner, f"{path} {name}")


def help_of(command: Any) -> list[str]:
    """The help text as paragraphs, examples as code."""
    lines: list[str] = []
    for paragraph in (command.help or "").replace("\\[", "[").split("\n\n"):  # of rich a tag
        text = " ".join(paragraph.split())
        head, colon, examples = text.partition(":")
        if head in ("Example", "Examples"):
            lines += [f"    {example.strip()}" for example in examples.split("; ")]
        else:
            lines += [text]
        lines += [""]
    return lines[:-1]


def usage(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return parameter.metavar or str(parameter.name).upper()
    names = ", ".join([*parameter.opts, *parameter.secondary_opts])
    return names if parameter.is_flag else f"{names} {parameter.name.upper()}"


def choices_of(annotation: Any) -> list[str]:
    """The words that an option takes, where it takes only some: those of its Literal, alone or beside None."""
    if str(getattr(annotation, "__origin__", "")) == "typing.Literal":
        return [str(choice) for choice in get_args(annotation)]
    return [choice for argument in get_args(annotation) for choice in choices_of(argument)]


def meaning(parameter: Any) -> str:
    text = getattr(parameter, "help", None) or ""
    choices = choices_of(parameter.type_descriptor.annotation)
    if choices:
        text += f" One of {', '.join(choices)}."
    default = parameter.default
    if default not in (None, False, "", ...):
        text += f" Default: {getattr(default, 'value', default)}."
    return cell(text)


def schema_file() -> str:
    """The JSON Schema of experiment files, as `hashbench schema` prints it."""
    with redirect_stdout(io.StringIO()) as printed:
        schema()
    return printed.getvalue()


def page(name: str) -> str:
    """A page with each of its tables as its command prints it now, on the example database. Raises ValueError."""
    text = (DOCS / name).read_text()
    if not MARK.search(text):  # else --check would compare nothing
        raise ValueError(f"{name}: no marks of a table")
    return MARK.sub(lambda found: f"{found['begin']}\n{table(found)}\n{found['end']}", text)


def table(found: re.Match[str]) -> str:
    """The table in Markdown of a command that prints one, without signs and headings of rows, and columns beside it."""
    words = [*shlex.split(found["command"]), "--db", str(EXAMPLE), "--format", "md"]
    command = [sys.executable, "-c", "from hashbench.cli.app import main; main()", *words]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    lines = [line for line in printed.splitlines() if line.startswith("|")]
    rows = [[SIGNS.sub("", part).strip() for part in line.strip("|").split("|")] for line in lines]
    rows = [rows[0], *(row for row in rows[2:] if any(row[1:]))]  # without headings of sections
    files = [(file, columns.split(", ")) for file, columns in BESIDE.findall(found["beside"])]
    for file, columns in files:
        with (DOCS / file).open() as opened:
            known = {row[next(iter(row))]: row for row in csv.DictReader(opened)}
        rows[0] += columns
        for row in rows[1:]:
            row += [grouped(known[row[0]][column]) if row[0] in known else "–" for column in columns]
    of_words = [is_text(list(column)) for column in zip(*rows[1:], strict=True)]
    order = sorted(range(len(rows[0])), key=lambda place: not of_words[place])  # words before numbers
    rows, texts = [[row[place] for place in order] for row in rows], [of_words[place] for place in order]
    # One list, as the headings of sections are left out: the highest number first
    rows = [rows[0], *sorted(rows[1:], key=partial(first_number, texts.count(True)))]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], f"|{'|'.join('---' if text else '---:' for text in texts)}|", *lines[1:]]) + "\n"


def first_number(place: int, row: Sequence[str]) -> tuple[bool, float]:
    """A key that sorts rows by the number in a cell, the highest first, those without one last."""
    found = re.match(r"-?[\d.]+", row[place])
    return (found is None, -float(found.group()) if found else 0.0)


def grouped(text: str) -> str:
    """A whole number with commas, other texts as they are."""
    return f"{int(text):,}" if text.isdigit() else text


def is_text(cells: Sequence[str]) -> bool:
    """True for a column that holds words."""
    return any(cell[:1].isalpha() for cell in cells)


WRITTEN = {
    "keys.md": keys_page,
    "commands.md": commands_page,
    "../experiments/schema.json": schema_file,
    **{name: partial(page, name) for name in PAGES},
}


def draw_figures() -> None:
    """Draws the pictures of the pages from the example database."""
    store = open_store(str(EXAMPLE), read_only=True)
    for file, (experiment, name, picture, models) in FIGURES.items():
        request = ReportRequest(experiment, examples=True, models=tuple(models.split()))
        figures = page_figures(ReportSource(store, request), names=[name], width="double", ground=True)
        drawn = {each.name: each.svg for each in figures}
        write_picture(file, drawn[picture])


def write_picture(name: str, svg: str) -> None:
    """Writes an `svg` element of a page as a file."""
    svg = svg.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    (DOCS / "images" / f"{name}.svg").write_text(f"{svg}\n")


def main() -> int:
    if "--figures" in sys.argv:
        draw_figures()
        return 0
    stale = []
    for name, make in WRITTEN.items():
        path, text = DOCS / name, make()
        if "--check" in sys.argv:
            stale += [name] if not path.is_file() or path.read_text() != text else []
        else:
            path.write_text(text)
    if stale:
        print(f"docs: {', '.join(stale)} not up to date; run: python docs/generate.py", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
