"""Commands to begin with: `quickstart`, `init`, and the experiments that come with the program."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated

import typer

from hashbench.cli.options import TableFormat
from hashbench.cli.output import note, print_rows, show
from hashbench.common import shipped
from hashbench.common.atomic import replace_text
from hashbench.common.errors import InputError, near_match

QUICKSTART = "quickstart"
TEMPLATES = Path(__file__).parent / "templates"
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")  # of an experiment, a YAML file and a Python file
SCHEMA = "hashbench.schema.json"
SENTENCE = re.compile(r".*?[.?](?= [A-Za-z]|$)")


def quickstart(
    db: Annotated[
        str, typer.Option("--db", help="Where the results are stored: a SQLite file or a database URL.")
    ] = f"{QUICKSTART}.db",
) -> None:
    """Train three small models on generated texts, which takes about a minute, and print their table.

    Example: hashbench quickstart
    """
    from hashbench.running.experiment.load import load_experiment

    loaded = load_experiment(shipped.experiments()[QUICKSTART])
    from hashbench.cli.sweep import print_own_table
    from hashbench.running.sweep.runner import DONE
    from hashbench.running.sweep.runner import sweep as run_sweep

    code = run_sweep(loaded, db=db)
    if code != DONE:
        raise typer.Exit(code)
    print_own_table(db, loaded)
    note(
        f"\nbeside a paper's:      hashbench report {QUICKSTART} --table 1 --db {db}\n"
        f"real results:          hashbench report glue_tiny --db {shipped.EXAMPLE}\n"
        "your own experiment:   hashbench init\n"
        "those of the papers:   hashbench experiments\n"
        "models by name:        hashbench models"
    )


def init(
    name: Annotated[
        str, typer.Argument(metavar="[NAME]", help="The name of the experiment and of its two files.")
    ] = "mine",
    classifier: Annotated[
        bool,
        typer.Option("--classifier", help="Write NAME.yaml alone: a classifier of your own texts in 300 KB."),
    ] = False,
) -> None:
    """Write NAME.yaml, an experiment with comments, and NAME.py, a user-defined embedding and its coder, to begin from.

    The schema from which an editor completes keys is written beside them. Files that are there already are kept, but
    for the schema, which is that of this version.

    Example: hashbench init mine
    """
    if not NAME.fullmatch(name):
        raise InputError(
            f"init {name}: no name of an experiment; write letters, digits, - and _, as in hashbench init mine"
        )
    if name in shipped.experiments():
        raise InputError(f"init {name}: an experiment that comes with hashbench has this name; choose another")
    files = {Path(f"{name}.yaml"): "experiment.yaml", Path(f"{name}.py"): "own_model.txt"}
    if classifier:
        files = {Path(f"{name}.yaml"): "classifier.yaml"}
    for file in files:
        if file.exists():
            raise InputError(f"{file}: is there already; choose another name: hashbench init NAME")
    if not _is_schema(Path(SCHEMA)):
        raise InputError(f"{SCHEMA}: is there already, and is no schema of hashbench; move it away, or go elsewhere")
    from hashbench.cli.check import schema_text

    try:
        for file, template in files.items():
            replace_text(file, (TEMPLATES / template).read_text(encoding="utf-8").replace("NAME", name))
        replace_text(Path(SCHEMA), schema_text())
    except OSError as error:
        raise InputError(f"{error.filename or name}: {error.strerror}; write to another folder") from error
    print("\n".join([*map(str, files), SCHEMA]))
    note(f"next:  hashbench check {name}.yaml   then   hashbench sweep {name}.yaml")


def _is_schema(file: Path) -> bool:
    """True where a file is none, or a schema of experiment files, of whatever version."""
    if not file.exists():
        return not file.is_symlink()
    try:
        schema = json.loads(file.read_text(encoding="utf-8"))
        return schema["title"] == "Experiment" and "models" in schema["properties"]
    except (OSError, ValueError, KeyError, TypeError):
        return False


def experiments(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="Print this experiment, or a file that one names beside it."),
    ] = None,
    style: TableFormat = "text",
) -> None:
    """List the experiments that come with hashbench, whose names `sweep`, `check` and `worker` take; or print one.

    Example: hashbench experiments glue_tiny > mine.yaml
    """
    named = shipped.experiments()
    if name is None:
        rows = [{"experiment": name, "about": _about(file)} for name, file in named.items()]
        print_rows(["experiment", "about"], rows, style)
        return
    beside = {file.name: file for file in next(iter(named.values())).parent.iterdir() if file.is_file()}
    file = named.get(name) or beside.get(name)
    if file is None:
        near = near_match(name, [*named, *beside])
        raise InputError(f"experiments {name}: no such experiment{near or ';'} list: hashbench experiments")
    text = file.read_text(encoding="utf-8")
    show(text, end="")
    if name in named:
        needed = [other for other in beside if other != file.name and re.search(rf"\b{re.escape(other)}\b", text)]
        for other in sorted(needed):
            note(f"it names {other}, from its own folder: hashbench experiments {other} > {other}")


def _about(file: Path) -> str:
    """The first sentence of the comments at the top of an experiment file."""
    lines = file.read_text(encoding="utf-8").splitlines()
    text = " ".join(line.removeprefix("#").strip() for line in lines[1:8] if line.startswith("#"))
    sentence = SENTENCE.match(text)
    return sentence.group() if sentence else text
