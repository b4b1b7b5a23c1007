"""Commands about a board of several databases: `board` and `board check`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated

import typer

from hashbench.cli.output import note, show
from hashbench.cli.outputs import Writes
from hashbench.common.allocator import collecting_nothing, one_thread_of_numpy
from hashbench.common.errors import InputError

PAGE_NAME = re.compile(r"[A-Za-z0-9_-]+\.(html|json)")
DAMAGED = 1  # exit code of a database that is not taken

Databases = Annotated[
    list[str],
    typer.Argument(
        metavar="DB...",
        help="Results stores: files of hashbench db export, any SQLite file or database URL of hashbench, or example. "
        "Of a run that several have finished, the result of the first one counts. The first is the cheapest, so name "
        "the largest there.",
        show_default=False,
    ),
]


def board(
    databases: Databases,
    out: Annotated[
        Path,
        typer.Option("--out", metavar="FOLDER", help="Where the pages go; it is made where it is missing."),
        Writes("--out"),
    ],
) -> None:
    """Write a board: a folder of static pages over the experiments of one or several databases, with JSON beside them.

    Open FOLDER/index.html; the pages need no server and fetch nothing. Refused for a database that board check refuses.

    Example: hashbench board example mine.db other.db --out board
    """
    one_thread_of_numpy()
    _check_folder(out)
    with collecting_nothing():
        from hashbench.common.atomic import replace_text
        from hashbench.results.exchange.together import together
        from hashbench.results.rendering.page.board import site
        from hashbench.running.experiment.identity import run_id

        sizes: dict[str, int] = {}
        before = _earlier_pages(out) or set()
        with together(databases, identify=run_id) as of:
            _make_folder(out)
            for name, text in site(of):
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

    Names that begin with a dot, as .git, are those of a folder that is published.
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


def _make_folder(out: Path) -> None:
    """Makes the folder, once the databases were read: a database that is refused leaves none."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out {out}: {error.strerror}; give a folder that can be made") from error


def board_check(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A contribution: a file of hashbench db export.")],
) -> None:
    """Check a contribution to a board: refused is what db check calls damaged, and what cannot be merged.

    Exit code 1: it is damaged. 2: it is no results store, or malformed.

    Example: hashbench board check mine.db
    """
    from hashbench.results.exchange.checking import find_damage
    from hashbench.results.exchange.foreign import check_there
    from hashbench.results.exchange.together import check_mergeable
    from hashbench.running.experiment.identity import run_id
    from hashbench.store.engine import open_results
    from hashbench.store.status import n_finished, private_parts

    check_there(file)
    store = open_results(file)
    damage = list(find_damage(store, identify=run_id))
    for item in damage:
        show(str(item))
    if damage:
        note(f"{store.name}: refused: {len(damage)} places are damaged; ask who made it for a whole copy")
        raise typer.Exit(DAMAGED)
    check_mergeable(file, identify=run_id)
    finished = n_finished(store)
    if not finished:
        raise InputError(f"{store.name}: no finished run in it; a contribution is a file of hashbench db export")
    if private := private_parts(store):
        note(
            f"{store.name}: it has {' and '.join(private)}, which a board does not show; to publish the file itself, "
            "make it by: hashbench db export FILE"
        )
    show(f"{store.name}: no damage; {finished:,} finished runs")
