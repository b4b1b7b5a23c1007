"""Commands about the cache: cache list, cache clean."""

from __future__ import annotations

from typing import Annotated

import typer

from hashbench.cli.options import TableFormat
from hashbench.cli.output import note, print_rows

app = typer.Typer(help="List the cache folder, or remove from it what was not used for long.", no_args_is_help=True)


@app.command("list")
def list_cache(style: TableFormat = "text") -> None:
    """List the folders of the cache (HASHBENCH_CACHE, else .hashbench here): their size and when they were last used.

    Example: hashbench cache list
    """
    from hashbench.common.cache import rooms
    from hashbench.common.showing import day_text
    from hashbench.data.sources.fingerprints import cache_folder
    from hashbench.results.rendering.rows import ListedRows

    cache = cache_folder()
    folders = rooms(cache)
    rows: ListedRows = [
        {
            "folder": folder.name,
            "entries": len(folder.entries),
            "megabytes": round(folder.n_bytes / 1e6, 1),
            "last_used": day_text(folder.used_at),
            "what": folder.holds,
        }
        for folder in folders
    ]
    print_rows(["folder", "entries", "megabytes", "last_used", "what"], rows, style)
    megabytes = sum(folder.n_bytes for folder in folders) / 1e6
    note(f"{cache}: {megabytes:,.1f} MB; remove what is old: hashbench cache clean")


@app.command()
def clean(
    older_than: Annotated[
        float, typer.Option("--older-than", min=0, help="Remove what was not used for this number of days.")
    ] = 30.0,
    weights: Annotated[
        bool, typer.Option("--weights", help="Also remove weights of finished runs, which export and evaluate need.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what would be removed.")] = False,
) -> None:
    """Remove from the cache what was not used for some days. A later sweep makes again what it needs.

    Refused while a sweep uses the cache.

    Example: hashbench cache clean --older-than 7 --dry-run
    """
    from hashbench.common.cache import DAY_S, cleaned, total_bytes
    from hashbench.data.sources.fingerprints import cache_folder

    cache = cache_folder()
    old = cleaned(cache, older_than_s=older_than * DAY_S, weights=weights, dry_run=dry_run)
    for entry in old if dry_run else ():
        print(f"{entry.n_bytes / 1e6:10,.1f} MB  {entry.path.relative_to(cache)}")
    size = f"{len(old)} entries of {total_bytes(old) / 1e6:,.1f} MB"
    print(f"{cache}: {size} {'would be removed' if dry_run else 'removed'}")
