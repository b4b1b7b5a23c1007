"""`list`: the experiments of a database."""

from __future__ import annotations

from datetime import UTC, datetime

from hashbench.cli.options import DEFAULT_DB, Database, TableFormat


def list_experiments(db: Database = DEFAULT_DB, style: TableFormat = "text") -> None:
    """List the experiments of a database with their runs, models, tasks and date, the last one swept first.

    An experiment file that was changed and swept again has a row for each version. Other commands read the newest.

    Example: hashbench list --db results.db.example
    """
    from hashbench.cli.output import print_rows
    from hashbench.common.showing import few
    from hashbench.results.read.overview import listed_experiments
    from hashbench.store.engine import open_results

    rows = [
        {
            "experiment": listed.name,
            "done": f"{listed.done} of {listed.runs}",
            "failed": listed.failed or "",
            "encoder": ", ".join(listed.encoders),
            "models": ", ".join(listed.models) if style != "text" else few(listed.models),
            "tasks": ", ".join(listed.tasks) if style != "text" else few(listed.tasks),
            "swept": datetime.fromtimestamp(listed.called_at, UTC).strftime("%Y-%m-%d %H:%M"),
        }
        for listed in listed_experiments(open_results(db))
    ]
    print_rows(["experiment", "done", "failed", "encoder", "models", "tasks", "swept"], rows, style)
