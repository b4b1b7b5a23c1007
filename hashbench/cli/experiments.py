"""`list`: the experiments of a database."""

from __future__ import annotations

from datetime import UTC, datetime

from hashbench.cli.options import DEFAULT_DB, Database, TableFormat


def list_experiments(db: Database = DEFAULT_DB, style: TableFormat = "text") -> None:
    """List the experiments of a database, the last swept first: runs, models, tasks, date.

    A file that was changed and swept again has a row for each version; commands read the newest of a name.

    Example: hashbench list --db results.db.example
    """
    from hashbench.cli.output import print_rows
    from hashbench.results.listing import listed_experiments
    from hashbench.store.engine import open_results

    rows = [
        {
            "experiment": each.name,
            "done": f"{each.done} of {each.runs}",
            "failed": each.failed or "",
            "encoder": ", ".join(each.encoders),
            "models": ", ".join(each.models) if style != "text" else _few(each.models),
            "tasks": ", ".join(each.tasks) if style != "text" else _few(each.tasks),
            "swept": datetime.fromtimestamp(each.called_at, UTC).strftime("%Y-%m-%d %H:%M"),
        }
        for each in listed_experiments(open_results(db))
    ]
    print_rows(["experiment", "done", "failed", "encoder", "models", "tasks", "swept"], rows, style)


def _few(names: tuple[str, ...]) -> str:
    """Two names and how many more, so that a line fits a screen.

    >>> _few(("cola", "rte", "sst2"))
    'cola, rte, 1 more'
    """
    return ", ".join(names) if len(names) <= 2 else f"{', '.join(names[:2])}, {len(names) - 2} more"
