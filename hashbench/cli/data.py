"""Commands about data: data list, describe, check, import-predictions, prepare, links."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hashbench.cli.options import (
    DEFAULT_DB,
    Data,
    Database,
    File,
    Overrides,
    TableFormat,
    TextOrJson,
    refuse_unknown,
)
from hashbench.cli.output import note, print_json, print_rows, show
from hashbench.cli.outputs import Writes
from hashbench.common.errors import InputError
from hashbench.common.showing import percent_text

app = typer.Typer(help="List and check data; prepare corpora ahead of a sweep.", no_args_is_help=True)
FOUND_WRONG = 1  # exit code


@app.command("list")
def list_data(data: Data = None, style: TableFormat = "text") -> None:
    """List the tasks and corpora that the data sources have.

    Example: hashbench data list --data ~/data
    """
    from hashbench.data.sources.sources import open_sources
    from hashbench.data.tasks.catalogue import available

    rows = [
        {
            "kind": entry.kind,
            "name": entry.name,
            "source": entry.source,
            "rows": entry.sizes,
            "metrics": ", ".join(entry.metrics),
            "note": entry.note,
        }
        for entry in available(open_sources(tuple(data or ("builtin", "hub")), Path.cwd()))
    ]
    print_rows(["kind", "name", "source", "rows", "metrics", "note"], rows, style)


@app.command()
def describe(
    name: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="The name of a task, a folder with a train file, hub:OWNER/NAME of the hub, or sib200.",
            show_default=False,
        ),
    ],
    data: Data = None,
    model: Annotated[
        list[str] | None,
        typer.Option(help="Read as this model does. Repeat it for several. Default: hashformer-md-proj."),
    ] = None,
    max_length: Annotated[int, typer.Option(min=8, help="Tokens of an input, special tokens included.")] = 128,
    text: Annotated[
        list[str] | None,
        typer.Option(
            help="Of data of your own: the column of the text; twice for a pair. Default: text.", show_default=False
        ),
    ] = None,
    label: Annotated[
        str | None, typer.Option(help="Of data of your own: the column of the label. Default: label.")
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            help="Of data of your own: spearman where labels are numbers, label_f1_micro for several labels a text."
        ),
    ] = None,
    separator: Annotated[
        str | None, typer.Option(help="Of data of your own: what separates several labels in one cell, as '|'.")
    ] = None,
    style: TextOrJson = "text",
) -> None:
    """Describe texts and labels, and what models read of them, before any training.

    Of the same texts in several languages (sib200) it prints words and tokens by language, and tokens over those of
    English. Shares are percentages. What a model's tokenizer or coder has to learn, it learns from the training texts
    of the data, and the output names it.

    Example: hashbench data describe cola --model bert-mlm --model hashformer-md-proj
    """
    refuse_unknown(model or [])
    from hashbench.running.sweep.describing import describe_data

    described = describe_data(
        name, data or ("builtin", "hub"), models=model or (), text=text or (), label=label, metric=metric,
        max_length=max_length, progress=note, separator=separator,
    )  # fmt: skip
    tables = dict(described.tables())
    if style == "json":
        print_json({"name": name, "origin": described.origin, "tables": tables, "notes": list(described.notes)})
        return
    show(f"{name}: {described.origin}")
    for title, rows in tables.items():
        show(f"\n{title}")
        print_rows(list(rows[0]), rows, "text")
    for line in described.notes:
        show(f"\n{line}")


@app.command()
def import_predictions(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The predictions, as JSON Lines.", show_default=False)],
    task: Annotated[str, typer.Option(help="The task of the experiment that they are on.", show_default=False)],
    name: Annotated[str, typer.Option(help="The name of their row in tables.", show_default=False)],
    experiment: Annotated[
        str | None, typer.Option(help="The experiment that they stand beside. Default: the one that was swept last.")
    ] = None,
    db: Database = DEFAULT_DB,
    data: Data = None,
    text: Annotated[
        list[str] | None,
        typer.Option(help="The column of the text in FILE, if it is not the task's; twice for a pair."),
    ] = None,
    label: Annotated[str | None, typer.Option(help="The column of the label in FILE, if it is not the task's.")] = None,
    seed: Annotated[
        int | None, typer.Option(help="Of examples of Every Eval Ever, which may have several seeds: this one.")
    ] = None,
) -> None:
    """Import predictions of another program on a task, so that compare pairs them with those of models here.

    FILE has samples of lm-evaluation-harness (--log_samples), examples of Every Eval Ever, or rows with the columns of
    the task and `prediction`. Each example must have a row with its text and label. Tables mark imported rows; they
    are in no claim, budget or group.

    Example: hashbench data import-predictions samples_sst2.jsonl --task sst2 --name llama --data ~/data
    """
    from hashbench.store.engine import open_store

    store = open_store(db, create=False)
    if not file.is_file():
        raise InputError(f"{file}: {'is a folder; name a file' if file.is_dir() else 'no such file; check the path'}")
    from hashbench.running.sweep.importing import import_predictions as import_file

    done = import_file(
        store, file, task=task, name=name, experiment=experiment, data=data or None, text=text or (), label=label,
        seed=seed,
    )  # fmt: skip
    scores = ", ".join(
        f"{metric} {'undefined' if value is None else percent_text(value)}" for metric, value in done.scores.items()
    )
    again = "" if done.is_new else " (stored before)"
    show(f"{name} on {task}, experiment {done.experiment}: {scores}; {done.matched}; run {done.run_id[:12]}{again}")


@app.command("check")
def check_data(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Tasks and corpora. Default: all that are read from the hub."),
    ] = None,
    style: TableFormat = "text",
) -> None:
    """Check each task and corpus on the hub: commit, columns, rows. No data are downloaded.

    Exit code 1: one of them cannot be read or differs from what is expected. 2: the hub cannot be reached.

    Example: hashbench data check cola ag_news
    """
    from hashbench.running.experiment.hub_check import COLUMNS, check_hub, hub_entries

    findings = check_hub(hub_entries(names or []))
    print_rows(COLUMNS, [finding.row() for finding in findings], style)
    for finding in findings:
        if finding.revision():
            note(f"not pinned: {finding.entry.name} stays at revision {finding.revision()}")
    if any(finding.problem for finding in findings):
        raise typer.Exit(FOUND_WRONG)


@app.command()
def prepare(
    file: File,
    overrides: Overrides = None,
    data: Data = None,
) -> None:
    """Tokenize the corpora of an experiment ahead of its sweep.

    It uses all cores, or as many as HASHBENCH_THREADS says; with executor=ray those of all nodes. If it is
    interrupted, the same command continues after the last finished shard.

    Example: hashbench data prepare glue_tiny --data ~/data
    """
    from hashbench.running.experiment.load import load_experiment

    loaded = load_experiment(file, overrides or [])
    from hashbench.running.sweep.housekeeping import prepared_corpora
    from hashbench.running.sweep.plan import plan

    for corpus in prepared_corpora(plan(loaded, data=data or None, here=False), note):
        print(f"{corpus.folder}: {len(corpus.ids):,} tokens of {len(corpus.types):,} types")


@app.command()
def links(
    dump: Annotated[Path, typer.Option(help="The file ...-pages-articles.xml.bz2 of a dump.", show_default=False)],
    out: Annotated[
        Path,
        typer.Option(help="The data folder, in which entities/links.parquet is written.", show_default=False),
        Writes("--out"),
    ],
    workers: Annotated[int | None, typer.Option(min=1, help="Number of processes. Default: one for each core.")] = None,
    without_disambiguation: Annotated[
        bool, typer.Option("--without-disambiguation", help="Leave out disambiguation pages and links to them.")
    ] = False,
) -> None:
    """Make a page-link set for Superbloom from a Wikipedia dump.

    Several processes read a multistream dump if its index (...-multistream-index.txt.bz2) is in the same folder.

    Example: hashbench data links --dump enwiki-latest-pages-articles-multistream.xml.bz2 --out ~/data
    """
    from hashbench.data.sources.dumps.page_links import SET_FILE, SET_FOLDER, make_page_links

    link_set = make_page_links(dump, out, workers=workers, disambiguation=not without_disambiguation, note=note)
    print(f"{out / SET_FOLDER / SET_FILE}: {link_set.pages:,} pages, {link_set.links:,} links")
    print(f"redirects: {link_set.redirects:,}, of which {link_set.lost_redirects:,} lead to no page")
    print(f"links left out, since they repeat one, lead to no page or to their own: {link_set.lost_links:,}")
    if without_disambiguation:
        print(f"disambiguation pages left out: {link_set.disambiguation:,}")
