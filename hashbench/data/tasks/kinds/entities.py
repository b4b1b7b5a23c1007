"""Hidden links of pages (Superbloom, section 3.1): a page-link set, tested on a tenth of its pages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hashbench.common.errors import InputError, near_match
from hashbench.data.sources.files import FileTable
from hashbench.data.sources.sources import Place, Source
from hashbench.data.tasks.base import Task
from hashbench.data.tasks.blocks import TaskEntry
from hashbench.data.tasks.items import (
    FILE,
    METRICS,
    EntitiesBlock,
    ItemKind,
    LinkSet,
    LocatedLinks,
    RowLength,
    in_folder,
    links_of_table,
    nearest,
    popularity,
    protocol_of,
)

if TYPE_CHECKING:
    from hashbench.data.tasks.item_batches import ItemSettings
    from hashbench.data.tasks.link_batches import Cases, EntityData

NAME = "entities"  # the kind, the named task, and the folder in a data folder
LABEL = "links"  # the column of links, unless an own data set names another


class PageLinks(ItemKind):
    """The kind of page-link sets: items are what pages link to, a row is a page's segment."""

    name = NAME
    description = "a page-link set"
    block = EntitiesBlock
    block_help = "of page-link sets"
    baselines = {"popularity": popularity, "co-occurrence": nearest}
    coherent_maps = True

    def takes(self, entry: TaskEntry) -> bool:
        return entry.links is not None

    def own_task(self, entry: TaskEntry, base: Path) -> Task:
        """The task of a user-defined page-link set. Raises InputError where there is no such folder or file."""
        assert entry.path is not None  # it takes no data set of the hub
        folder = (base / Path(entry.path).expanduser()).absolute()
        if not isinstance(entry.text, str):
            raise InputError(f"task {entry.name!r}: text is the column of the page, one name; the items stand in links")
        if entry.labels or entry.positive:
            raise InputError(f"task {entry.name!r}: a page-link set has no classes; leave labels and positive out")
        # The schema's default is for texts
        metric = METRICS[0] if entry.metric == "accuracy" else entry.metric
        if metric not in METRICS:
            hint = f"{near_match(metric, list(METRICS)) or ';'} choose from {', '.join(METRICS)}"
            raise InputError(f"task {entry.name!r}: metric {metric!r} is none of a page-link set{hint}")
        task = _task(entry.name, (entry.text,), entry.links or LABEL, metric, folder)
        if in_folder(folder, task, "", "own") is None:
            raise InputError(f"task {entry.name!r}: no {FILE}.parquet in {folder}; check path")
        return task

    def find_in(self, source: Source, task: Task) -> LocatedLinks | None:
        located = source.find_tables(Place(NAME, {FILE: (FILE,)}))
        table = located.tables.get(FILE) if located else None
        return links_of_table(task, table, f"folder {NAME}", "folder") if isinstance(table, FileTable) else None

    def locate_own(self, task: Task, folder: Path) -> LocatedLinks:
        if (links := in_folder(folder, task, f"own data set {folder.name}", "own")) is None:
            raise InputError(f"{folder}: {FILE}.parquet is gone; put it back")
        return links

    def files_of(self, task: Task) -> str:
        return f"{NAME}/{FILE}.parquet"

    def cases(self, data: LinkSet, split: str) -> Cases:
        from hashbench.data.tasks.link_batches import Cases

        return Cases(data.links_of(split), data.splits[split], protocol_of(data.task))

    def batches(self, data: LinkSet, codes: np.ndarray, settings: ItemSettings) -> EntityData:
        from hashbench.data.tasks.link_batches import EntityData

        return EntityData(data, codes, settings)

    def row_length(self, block: EntitiesBlock) -> RowLength:
        return RowLength("segment_items", block.segment_items, 2)


KIND = PageLinks()


def _task(name: str, text: tuple[str, ...], label: str, metric: str, folder: Path | None = None) -> Task:
    return Task(
        name=name,
        kind=KIND,
        text=text,
        label=label,
        metrics=METRICS,
        select_metric=metric,
        report_splits=("test",),
        folder=folder,
    )


ENTITIES = _task(NAME, ("page",), LABEL, METRICS[0])
TASKS = [ENTITIES]
