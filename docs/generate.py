"""Writes what follows from the code: `keys.md` and `experiments/schema.json`, `commands.md` from the command line; and
the table of README.md between its marks, by the command that the mark names, from `results.db.example`.

python docs/generate.py            # writes them
python docs/generate.py --check    # exit code 1 if they are not what the code and the database say
python docs/generate.py --figures  # draws the figures of the pages from results.db.example into images/
"""

from __future__ import annotations

import csv
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from hashbench.cli.app import app
from hashbench.cli.check import schema_text
from hashbench.results.plots.main import page_figures
from hashbench.results.tables.request import ReportRequest, ReportSource
from hashbench.store.engine import open_store

DOCS = Path(__file__).parent
README, EXAMPLE = DOCS.parent / "README.md", DOCS.parent / "results.db.example"
# Of images/: the experiment, the figure that draws it, the picture, and the models and trivial baselines (none: all)
FIGURES = {
    "glue_tiny": ("glue_tiny", "pareto", "pareto_parameters", ""),
    "curves_bytes": ("curves_bytes", "sizes", "score_bytes", ""),
    "pretraining_tiny": ("pretraining_tiny", "pretraining", "pretraining", ""),
    "embeddings": (
        "embeddings_tiny_common", "differences", "differences",
        "blt-average multihash blt k2-signs bpe lsh-proj bag-of-words hashed-words bag-of-pairs-2",
    ),
}  # fmt: skip
# In README.md: the command whose table is written below it, and a file of further columns, joined by its first one
MARK = re.compile(
    r"(<!-- written from: hashbench (?P<command>[^;\n]+)(?P<beside>(?:; beside [^;\n]+)*) -->\n).*?(<!-- end -->\n)",
    re.DOTALL,
)
BESIDE = re.compile(r"; beside (\S+): ([^;]+)")
REFERENCE = re.compile(r"/\$defs/(\w+)")
SIGNS = re.compile(r"[*†‡§]|\\(?=_)")  # their meaning stands below the command's own table
KEYS = """# All keys

Every key of an experiment file, with its default. Where the default is `null`, the value follows from
the model's objective and the encoder's size, or the key is off; the description says which.
`hashbench check FILE` prints what a file resolves to, `hashbench schema` prints the keys as JSON Schema."""
COMMANDS = """# All commands

`hashbench COMMAND --help` prints the same. Exit codes: 0 done, 1 some runs failed, 2 wrong input (one line
says what, where and what to do), 129, 130, 138, 140 and 143 interrupted."""
YAML_NAMES = {"integer": "whole number", "string": "text", "boolean": "true or false", "object": "mapping"}


def keys_page() -> str:
    """One table for each block of an experiment file, from its JSON Schema."""
    schema = json.loads(schema_text())
    lines = [KEYS]
    names: dict[str, str] = {}
    for key, name in blocks(schema, schema["$defs"]):
        names.setdefault(name, f"`{key}`")
    for title, block in (("The file", schema), *((title, schema["$defs"][name]) for name, title in names.items())):
        lines += ["", f"## {title}", "", " ".join(block["description"].split()), ""]
        lines += ["| key | type | default | meaning |", "|---|---|---|---|"]
        for key, part in block["properties"].items():
            default = "required" if key in block.get("required", ()) else f"`{default_of(part)}`"
            lines.append(f"| `{key}` | {type_name(part)} | {default} | {cell(part.get('description', ''))} |")
    return "\n".join(lines) + "\n"


def blocks(block: dict[str, Any], definitions: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The key that holds each block, and the name of its definition, from the outermost on."""
    held = [(key, name) for key, part in block["properties"].items() for name in REFERENCE.findall(str(part))]
    yield from held
    for _, name in held:
        yield from blocks(definitions[name], definitions)


def type_name(part: dict[str, Any]) -> str:
    """A type of JSON Schema as a reader of YAML names it."""
    if "anyOf" in part:
        return " or ".join(dict.fromkeys(type_name(each) for each in part["anyOf"]))
    if "enum" in part or "const" in part:
        return " or ".join(f"`{value}`" for value in part.get("enum") or [part["const"]])
    if part.get("type") == "array":
        return f"list of {type_name(part.get('items') or {'anyOf': part['prefixItems']})}"
    return "block" if "$ref" in part else YAML_NAMES.get(kind := part.get("type", "any value"), kind)


def default_of(part: dict[str, Any]) -> str:
    """A default as YAML writes it."""
    return "see the block" if "$ref" in part else json.dumps(part.get("default"), ensure_ascii=False).replace('"', "")


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def commands_page() -> str:
    """Each command with its arguments and options."""
    lines = [COMMANDS]
    for path, command in commands(typer.main.get_command(app), "hashbench"):
        lines += ["", f"## {path}", "", *help_of(command)]
        shown = [each for each in command.params if not getattr(each, "hidden", False) and each.name != "help"]
        if shown:
            lines += ["", "| argument or option | meaning |", "|---|---|"]
            lines += [f"| `{usage(parameter)}` | {meaning(parameter)} |" for parameter in shown]
    return "\n".join(lines) + "\n"


def commands(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Every command that does something, groups spelled out."""
    inner = getattr(command, "commands", {})
    if not inner or (command.callback is not None and command.invoke_without_command and path != "hashbench"):
        yield path, command
    for name, each in inner.items():
        if not each.hidden:
            yield from commands(each, f"{path} {name}")


def help_of(command: Any) -> list[str]:
    """The help text as paragraphs, examples as code."""
    lines: list[str] = []
    for paragraph in (command.help or "").replace("\\[", "[").split("\n\n"):  # of rich a tag
        text = " ".join(paragraph.split())
        head, _, examples = text.partition(":")
        lines += [f"    {each.strip()}" for each in examples.split("; ")] if head.startswith("Example") else [text]
        lines += [""]
    return lines[:-1]


def usage(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return parameter.metavar or str(parameter.name).upper()
    names = ", ".join([*parameter.opts, *parameter.secondary_opts])
    return names if parameter.is_flag else f"{names} {parameter.name.upper()}"


def meaning(parameter: Any) -> str:
    text = getattr(parameter, "help", None) or ""
    if "Literal[" in (annotation := str(parameter.type_descriptor.annotation)):
        choices = re.findall(r"'([^']+)'", annotation)
        text += f" One of {', '.join(choices)}."
    if parameter.default not in (None, False, "", ...):
        text += f" Default: {getattr(parameter.default, 'value', parameter.default)}."
    return cell(text)


def readme() -> str:
    """README.md with its table as the command prints it now, on the example database."""
    written, n_tables = MARK.subn(lambda found: f"{found[1]}\n{table(found)}\n{found[4]}", README.read_text())
    assert n_tables, "README.md: no mark of a table"  # else --check would compare nothing
    return written


def table(found: re.Match[str]) -> str:
    """The command's table in Markdown, the best row first, without signs; the columns of files follow the name."""
    words = [*shlex.split(found["command"]), "--db", str(EXAMPLE), "--format", "md"]
    printed = subprocess.run([sys.executable, "-m", "hashbench", *words], capture_output=True, text=True, check=True)
    rows = [SIGNS.sub("", line).strip("|").split("|") for line in printed.stdout.splitlines() if line.startswith("|")]
    rows = [row for row in rows if any(part.strip() for part in row[1:])]  # without headings of rows
    rows[2:] = sorted(rows[2:], key=lambda row: -float((re.findall(r"[\d.]+", row[1]) or [-1])[0]))
    for file, names in BESIDE.findall(found["beside"]):
        known = {next(iter(row.values())): row for row in csv.DictReader((DOCS / file).open())}
        is_number = next(iter(known.values()))[names.split(", ")[0]].isdigit()
        place = len(rows[0]) if is_number else 1  # numbers at the end, words behind the name
        known["model"] = {name: name for name in names.split(", ")}
        known["---"] = dict.fromkeys(known["model"], "---:" if is_number else "---")
        for row in rows:
            values = [known.get(row[0].strip(), {}).get(name, "–") for name in known["model"]]
            row[place:place] = [f" {int(value):,} " if value.isdigit() else f" {value} " for value in values]
    return "\n".join(f"|{'|'.join(row)}|" for row in rows) + "\n"


def draw_figures() -> None:
    """Draws the pictures of the pages from the example database."""
    store = open_store(str(EXAMPLE), read_only=True)
    for file, (experiment, name, picture, models) in FIGURES.items():
        source = ReportSource(store, ReportRequest(experiment, examples=True, models=tuple(models.split())))
        drawn = {each.name: each.svg for each in page_figures(source, names=[name], width="double")}
        svg = drawn[picture].replace("<svg ", '<svg style="background: white" ', 1)
        (DOCS / "images" / f"{file}.svg").write_text(f"{svg}\n")


def main() -> None:
    if "--figures" in sys.argv:
        return draw_figures()
    made = {DOCS / "keys.md": keys_page(), DOCS / "commands.md": commands_page(), README: readme()}
    made[DOCS.parent / "experiments" / "schema.json"] = schema_text()
    stale = [path.name for path, text in made.items() if not path.is_file() or path.read_text() != text]
    if "--check" in sys.argv:
        sys.exit(f"docs: {', '.join(stale)} not up to date; run: python docs/generate.py" if stale else 0)
    for path, text in made.items():
        path.write_text(text)


if __name__ == "__main__":
    main()
