"""Commands about the cache: cache list, cache clean."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import groupby
from typing import Annotated

import typer

from hashbench.cli.options import TableFormat

app = typer.Typer(help="What the cache folder holds; remove what was not used for long.", no_args_is_help=True)


@app.command("list")
def list_cache(style: TableFormat = "text") -> None:
    """List what is in the cache folder (HASHBENCH_CACHE, else .hashbench here): its size and its last use.

    Example: hashbench cache list
    """
    from hashbench.artifacts.cache import FOLDERS, entries
    from hashbench.cli.output import note, print_rows
    from hashbench.data.fingerprints import cache_folder

    cache = cache_folder()
    found = entries(cache)
    rows = []
    for room, members in groupby(found, key=lambda each: each.room):
        some = list(members)
        rows.append(
            {
                "folder": room,
                "entries": len(some),
                "megabytes": round(sum(each.n_bytes for each in some) / 1e6, 1),
                "last_used": _day(max(each.used_at for each in some)),
                "what": FOLDERS[room] if room in FOLDERS else "not of this program",
            }
        )
    print_rows(["folder", "entries", "megabytes", "last_used", "what"], rows, style)
    note(f"{cache}: {sum(each.n_bytes for each in found) / 1e6:,.1f} MB; remove what is old: hashbench cache clean")


@app.command()
def clean(
    older_than: Annotated[float, typer.Option("--older-than", min=0, help="Days since the last use.")] = 30.0,
    weights: Annotated[
        bool, typer.Option("--weights", help="Also weights of finished runs, which exports and evaluations read.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would go, remove nothing.")] = False,
) -> None:
    """Remove from the cache what was not used for some days. A later sweep makes again what it needs.

    Refused while a sweep uses the cache.

    Example: hashbench cache clean --older-than 7 --dry-run
    """
    from hashbench.artifacts.cache import DAY_S, cleaned
    from hashbench.data.fingerprints import cache_folder

    cache = cache_folder()
    gone = cleaned(cache, older_than_s=older_than * DAY_S, weights=weights, dry_run=dry_run)
    for each in gone if dry_run else ():
        print(f"{each.n_bytes / 1e6:10,.1f} MB  {each.path.relative_to(cache)}")
    what = f"{len(gone)} entries of {sum(each.n_bytes for each in gone) / 1e6:,.1f} MB"
    print(f"{cache}: {what} {'would be removed' if dry_run else 'removed'}")


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")
