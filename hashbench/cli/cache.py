"""The command about the cache: cache clean."""

from __future__ import annotations

from typing import Annotated

import typer

from hashbench.cli.output import show
from hashbench.common.errors import InputError


def clean(
    older_than: Annotated[
        float, typer.Option("--older-than", min=0, help="Remove what was not used for this number of days.")
    ] = 30.0,
    weights: Annotated[
        bool,
        typer.Option(
            "--weights",
            help="Also remove weights of runs that none of the databases --db has. Export and evaluate need weights.",
        ),
    ] = False,
    databases: Annotated[
        list[str] | None,
        typer.Option(
            "--db",
            help="With --weights: a database whose weights stay. Repeat it for each one that shares the cache.",
            show_default=False,
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print what would be removed.")] = False,
) -> None:
    """Remove from the cache what was not used for some days. A later sweep makes again what it needs.

    Weights of finished runs stay without --weights. Only what hashbench made goes, never anything behind a link.
    Refused for a folder that is no cache of hashbench, and while a sweep uses the cache.

    Example: hashbench cache clean --older-than 7 --dry-run
    """
    from hashbench.common.cache import DAY_S, cleaned, total_bytes
    from hashbench.data.sources.fingerprints import cache_folder
    from hashbench.store.engine import open_results
    from hashbench.store.status import named_runs

    if weights != bool(databases):
        raise InputError(
            "cache clean: --weights and --db go together: weights stay that one of the databases has, so name every "
            "database that shares the cache, as in --weights --db results.db"
        )
    cache = cache_folder()
    named = {run_id for database in databases or () for run_id in named_runs(open_results(database))}
    old = cleaned(cache, older_than_s=older_than * DAY_S, named=named if weights else None, dry_run=dry_run)
    for entry in old if dry_run else ():
        show(f"{entry.n_bytes / 1e6:10,.1f} MB  {entry.path.relative_to(cache)}")
    size = f"{len(old)} entries of {total_bytes(old) / 1e6:,.1f} MB"
    show(f"{cache}: {size} {'would be removed' if dry_run else 'removed'}")
