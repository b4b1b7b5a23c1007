"""Commands about data: data list, data prepare."""

from __future__ import annotations

import typer

from hashbench.cli.options import Data, File, Overrides, TableFormat

app = typer.Typer(help="What data there are; prepare corpora ahead of a sweep.", no_args_is_help=True)


@app.command("list")
def list_data(data: Data = None, style: TableFormat = "text") -> None:
    """Tasks and corpora that the sources have.

    Example: hashbench data list --data ~/data
    """
    from pathlib import Path

    from hashbench.cli.output import print_rows
    from hashbench.data.sources import open_sources
    from hashbench.tasks.catalogue import known_tasks
    from hashbench.tasks.locate import available

    rows = []
    metrics = {name: ", ".join(task.metrics) for name, task in known_tasks().items()}
    for source in available(open_sources(tuple(data or ("builtin", "hub")), Path.cwd())):
        sizes = ", ".join(f"{split} {'?' if n is None else f'{n:,}'}" for split, n in source.rows.items())
        known = metrics.get(source.name, "") if source.kind == "task" else ""
        rows.append(
            {
                "kind": source.kind,
                "name": source.name,
                "source": source.source,
                "rows": sizes,
                "metrics": known,
                "note": source.note,
            }
        )
    print_rows(["kind", "name", "source", "rows", "metrics", "note"], rows, style)


@app.command()
def prepare(file: File, overrides: Overrides = None, data: Data = None) -> None:
    """Turn the corpora of an experiment into shards of type ids, as the first run that needs them would.

    Example: hashbench data prepare experiments/glue_tiny.yaml --data ~/data
    """
    from hashbench.cli.output import note
    from hashbench.data.fingerprints import cache_folder
    from hashbench.experiment.load import load_experiment
    from hashbench.runs.materials import Materials
    from hashbench.sweep.plan import plan

    loaded = load_experiment(file, overrides or [])
    planned = plan(loaded, data=data or None)
    materials = Materials(planned.resolved.sources, cache_folder())
    seen: set[str] = set()
    for model in planned.resolved.models.values():
        note(f"preparing for {model.label} ...")
        corpus = materials.texts(model).corpus
        if corpus is not None and str(corpus.folder) not in seen:
            seen.add(str(corpus.folder))
            print(f"{corpus.folder}: {len(corpus.ids):,} tokens of {len(corpus.types):,} types")
