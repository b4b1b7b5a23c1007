"""`hashbench data prepare`: the corpora of a plan as type ids, before the first run that reads them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from hashbench.data.corpora.corpus import Corpus
from hashbench.data.sources.fingerprints import cache_folder
from hashbench.running.runs.materials import Materials
from hashbench.running.sweep.executors.registry import find_shard_workers
from hashbench.running.sweep.plan import Plan


def prepared_corpora(planned: Plan, note: Callable[[str], None]) -> Iterator[Corpus]:
    """Each corpus that a model of the plan reads, once, as soon as it is made; `note` is told what goes on."""
    workers = find_shard_workers(planned.resolved.experiment.executor)
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
            yield corpus
