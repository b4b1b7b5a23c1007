"""Commands about data: data list, data check, data prepare, data links."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from hashbench.cli.options import Data, File, Overrides, RayAddress, TableFormat, name_cluster

app = typer.Typer(help="What data there are; prepare corpora ahead of a sweep.", no_args_is_help=True)
FOUND_WRONG = 1  # exit code


@app.command("list")
def list_data(data: Data = None, style: TableFormat = "text") -> None:
    """List the tasks and corpora that the sources have.

    Example: hashbench data list --data ~/data
    """
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


@app.command("check")
def check_data(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Tasks and corpora; all of the hub's if none.")
    ] = None,
    style: TableFormat = "text",
) -> None:
    """Check each task and corpus on the hub: commit, columns, rows. No data are downloaded.

    Exit code 1: one of them cannot be read or differs from what is expected. 2: the hub cannot be reached.

    Example: hashbench data check cola ag_news
    """
    from hashbench.cli.output import note, print_rows
    from hashbench.data.hub import SHORT_COMMIT
    from hashbench.experiment.hub_check import check_hub, hub_entries

    findings = check_hub(hub_entries(names or []))
    rows = []
    for finding in findings:
        place, copy = finding.entry.first.place, finding.copy
        rows.append(
            {
                "name": finding.entry.name,
                "from": place.repository + (f" ({place.config})" if place.config else ""),
                "commit": copy.revision[:SHORT_COMMIT] if copy else "",
                "branch": "" if copy is None else "converted" if copy.converted else "main",
                "pinned": "yes" if finding.pinned else "no",
                "rows": ", ".join(f"{split} {n:,}" for split, n in finding.rows.items()),
                "finding": finding.problem or finding.remark or "ok",
            }
        )
    print_rows(["name", "from", "commit", "branch", "pinned", "rows", "finding"], rows, style)
    for finding in findings:
        if finding.copy and not finding.pinned:
            converted = ", converted" if finding.copy.converted else ""
            note(f"not pinned: {finding.entry.name} stays at revision {finding.copy.revision}{converted}")
    if any(finding.problem for finding in findings):
        raise typer.Exit(FOUND_WRONG)


@app.command()
def prepare(
    file: File,
    overrides: Overrides = None,
    data: Data = None,
    executor: Annotated[
        Literal["local", "ray"] | None, typer.Option(help="Where corpora are tokenized; overrides the file's.")
    ] = None,
    ray_address: RayAddress = None,
) -> None:
    """Tokenize the corpora of an experiment into type ids, as the first run that needs them would do.

    It uses all cores, or as many as HASHBENCH_THREADS says; with --executor ray those of all nodes. After a kill
    the same command continues after the last finished shard.

    Example: hashbench data prepare experiments/glue_tiny.yaml --data ~/data
    """
    from hashbench.cli.output import note
    from hashbench.data.fingerprints import cache_folder
    from hashbench.experiment.load import load_experiment
    from hashbench.runs.materials import Materials
    from hashbench.sweep.executors.registry import find_shard_workers
    from hashbench.sweep.plan import plan

    loaded = load_experiment(file, [*(overrides or []), *([f"executor={executor}"] if executor else [])])
    name_cluster(ray_address, loaded.experiment.executor)
    planned = plan(loaded, data=data or None)
    workers = find_shard_workers(loaded.experiment.executor)
    materials = Materials(planned.resolved.sources, cache_folder(), workers=workers, progress=note)
    seen: set[str] = set()
    for model in planned.resolved.models.values():
        if model.pretrain.streaming:
            note(f"{model.label} reads its corpora as a stream: nothing to prepare")
            continue
        note(f"preparing for {model.label} ...")
        corpus = materials.texts(model).corpus
        if corpus is not None and str(corpus.folder) not in seen:
            seen.add(str(corpus.folder))
            print(f"{corpus.folder}: {len(corpus.ids):,} tokens of {len(corpus.types):,} types")


@app.command()
def links(
    dump: Annotated[Path, typer.Option(help="The dump, ...-pages-articles.xml.bz2.", show_default=False)],
    out: Annotated[
        Path, typer.Option(help="A data folder; the set is its entities/links.parquet.", show_default=False)
    ],
    workers: Annotated[int | None, typer.Option(min=1, help="Processes; all cores if not given.")] = None,
    without_disambiguation: Annotated[
        bool, typer.Option("--without-disambiguation", help="Leave out disambiguation pages and links to them.")
    ] = False,
) -> None:
    """Make a page-link set for Superbloom from a Wikipedia dump.

    Several processes read a multistream dump if its index (...-multistream-index.txt.bz2) is in the same folder.

    Example: hashbench data links --dump enwiki-latest-pages-articles-multistream.xml.bz2 --out ~/data
    """
    from hashbench.cli.output import note
    from hashbench.data.dumps.page_links import SET_FILE, SET_FOLDER, make_page_links

    made = make_page_links(dump, out, workers=workers, disambiguation=not without_disambiguation, note=note)
    print(f"{out / SET_FOLDER / SET_FILE}: {made.pages:,} pages, {made.links:,} links")
    print(f"redirects: {made.redirects:,}, of which {made.lost_redirects:,} lead to no page")
    print(f"links left out, since they repeat one, lead to no page or to their own: {made.lost_links:,}")
    if without_disambiguation:
        print(f"disambiguation pages left out: {made.disambiguation:,}")
