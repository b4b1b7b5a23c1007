"""The command `board`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated

import typer

from hashbench.cli.output import show
from hashbench.cli.outputs import Writes
from hashbench.common.errors import InputError
from hashbench.common.process import collecting_nothing, one_thread_of_numpy

PAGE_NAME = re.compile(r"[A-Za-z0-9_-]+\.(html|json)")


def board(
    databases: Annotated[
        list[str],
        typer.Argument(metavar="DB", help="A results store: a file, a database URL, or example.", show_default=False),
    ],
    out: Annotated[
        Path,
        typer.Option("--out", metavar="FOLDER", help="Where the pages go; it is made where it is missing."),
        Writes("--out"),
    ],
) -> None:
    """Write a board: a folder of static pages over the experiments of a database, with JSON beside them.

    Open FOLDER/index.html; the pages need no server and fetch nothing. A damaged database is refused (hashbench db
    check). To show several as one, merge them first (hashbench db merge).

    Example: hashbench board example --out board
    """
    if len(databases) > 1:
        raise InputError("board: reads one database; merge the others into a copy of it first, with hashbench db merge")
    one_thread_of_numpy()
    _check_folder(out)
    with collecting_nothing():
        from hashbench.common.atomic import replace_text
        from hashbench.results.exchange.checking import find_damage
        from hashbench.results.rendering.page.board import site
        from hashbench.running.experiment.identity import run_id
        from hashbench.store.engine import open_results

        sizes: dict[str, int] = {}
        before = _earlier_pages(out) or set()
        store = open_results(databases[0])
        for damage in find_damage(store, identify=run_id):
            raise InputError(f"{store.name}: damaged: {damage}; all of it: hashbench db check --db {store.name}")
        try:
            out.mkdir(parents=True, exist_ok=True)  # now: a database that is refused leaves no folder
        except OSError as error:
            raise InputError(f"--out {out}: {error.strerror}; give a folder that can be made") from error
        for name, text in site(store):
            try:
                replace_text(out / name, text)
            except OSError as error:
                raise InputError(f"--out {out}: {error.strerror}; give a folder that can be written") from error
            sizes[name] = len(text.encode())
        for name in before - sizes.keys():
            (out / name).unlink(missing_ok=True)
    total = sum(sizes.values()) / 1e6
    show(f"{out / 'index.html'}: {len(sizes)} files, {total:.1f} MB; open it in a browser")


def _earlier_pages(out: Path) -> set[str] | None:
    """The files of the experiments of the board that is in the folder, so that none of them stays as if it were new.

    None: there is no board.
    """
    try:
        board = json.loads((out / "board.json").read_text(encoding="utf-8"))
        named = {str(of[key]) for of in board["experiments"] for key in ("page", "json")}
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return {name for name in named if PAGE_NAME.fullmatch(name)}


def _check_folder(out: Path) -> None:
    """Raises InputError where a file is in the folder's place, it cannot be read, or others' files are in it.

    Names that begin with a dot, as .git, belong to a folder that is published.
    """
    if out.exists() and not out.is_dir():
        raise InputError(f"--out {out}: is a file; name a folder")
    try:
        files = sorted(file.name for file in out.glob("[!.]*"))
        if files and _earlier_pages(out) is None:
            raise InputError(
                f"--out {out}: has other files, as {files[0]}, and no board; name a new or an empty folder"
            )
    except OSError as error:
        raise InputError(f"--out {out}: {error.strerror}; give a folder that can be read") from error
