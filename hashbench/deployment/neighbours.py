"""The items (pages, words) that a model trained on hidden items ranks highest for a hand-written context.

Page links are a set, for which the model ranks one more; a text has an order, and [MASK] at the place to predict.
"""

from __future__ import annotations

import numpy as np
import torch

from hashbench.common.errors import InputError, near_match
from hashbench.data.sources.fingerprints import cache_folder
from hashbench.data.tasks.catalogue import item_kind_of
from hashbench.data.tasks.item_batches import with_specials
from hashbench.models.coders.base import make_coder
from hashbench.models.coders.bloom import Bloom
from hashbench.models.embeddings.base import MASK_ID, NO_LABEL, Batch, Template
from hashbench.models.objectives.entities import EntityHead
from hashbench.models.objectives.item_search import ItemSearch
from hashbench.results.read import queries
from hashbench.running.experiment.stored_models import StoredModel, model_of_run
from hashbench.running.runs.artifacts import ArtifactFolder, ModelFiles
from hashbench.running.runs.items import KIND as ITEM_TRAINING
from hashbench.running.runs.items import build_parts
from hashbench.running.training.entities import case_distributions
from hashbench.running.training.model import Model, load_weights
from hashbench.store.engine import Store, open_results
from hashbench.store.status import find_run, run_spec

PLACEHOLDER = "[MASK]"  # in a text: the place to predict
Neighbour = dict[str, str | int | float]  # rank, item, score, in_context
# Most frequent items among which a misspelled one is looked for.
LOOKED_AT = 200_000


def neighbours(
    db: str, run: str, context: list[str], *, top: int, beam: int | None, trust_code: bool = False
) -> list[Neighbour]:
    """Rows of the `top` items for a context's hidden item: rank, item, log-probability, and if the context has it.

    `beam` None: exact. Raises InputError for an unknown run, one without weights, an item it does not know, or a text
    that does not hide one item.
    """
    store = open_results(db)
    run_id = find_run(store, run)
    spec = run_spec(store, run_id)
    if spec["kind"] != ITEM_TRAINING.name:
        raise InputError(f"--run {run}: predicts no hidden items; name a training on a page-link set or on phrases")
    files = _files(store, run_id, run)
    kind, block = item_kind_of(spec)
    of_text = kind.in_order
    if context.count(PLACEHOLDER) != of_text:
        wrong = f"write {PLACEHOLDER} once, in the place of the item to find" if of_text else f"leave {PLACEHOLDER} out"
        raise InputError(f"--run {run}: was trained on {'a text' if of_text else 'page links'}; {wrong}")
    stored = model_of_run(store, run_id, trust_code=trust_code)
    coder, model, head = _loaded(stored, files, next_sentence=kind.next_sentence(block))
    items = [MASK_ID if word == PLACEHOLDER else _item(coder, word) for word in context]
    logs = _distribution(coder, model, head, items if of_text else [MASK_ID, *items])
    search = ItemSearch(coder.maps, coder.alpha)
    ranking = search.exact(logs, top) if beam is None else search.approximate(logs, top, beam)
    rows = zip(ranking.items[0].tolist(), ranking.scores[0].tolist(), strict=True)
    return [
        {"rank": rank, "item": coder.item(item), "score": round(score, 3), "in_context": "yes" if item in items else ""}
        for rank, (item, score) in enumerate(rows, 1)
        if item >= 0
    ]


def _files(store: Store, run_id: str, run: str) -> ModelFiles:
    """The stored coder, weights and head of a run. Raises InputError where it kept none or is not finished."""
    folder = ArtifactFolder.of_environment(cache_folder())
    files = folder.files(run_id)
    if not all(folder.has(file) for file in (files.coder, files.weights, files.head)):
        state = store.query(queries.STATE_OF_RUN, id=run_id)[0]["state"]
        if state != "done":
            raise InputError(f"--run {run}: is {state}, not done; finish it with hashbench sweep")
        raise InputError(f"--run {run}: no weights in {files.folder}; sweep it with keep_weights: best")
    return files


def _loaded(stored: StoredModel, files: ModelFiles, *, next_sentence: bool) -> tuple[Bloom, Model, EntityHead]:
    """Coder, model and head of a finished run."""
    loaded, resolved = stored.loaded, stored.model
    coder = make_coder(resolved.spec.code.coder, **resolved.spec.code.args)
    assert isinstance(coder, Bloom)  # the plan has checked
    with np.load(files.coder) as state_arrays:
        coder.restore(dict(state_arrays))
    model, head = build_parts(resolved, loaded.experiment.encoder, coder, seed=0, next_sentence=next_sentence)
    load_weights(model, files.weights)
    load_weights(head, files.head)
    return coder, model.eval(), head.eval()


def _item(coder: Bloom, name: str) -> int:
    place = coder.place(name.encode())
    if place is None:
        near = near_match(name, coder.items()[:LOOKED_AT])
        hint = near or "; its items are the linked pages of the data, or the words and pairs (of_the) of the text"
        raise InputError(f"item {name!r}: not in the vocabulary{hint}")
    return place


def _distribution(coder: Bloom, model: Model, head: EntityHead, items: list[int]) -> torch.Tensor:
    """Log-probabilities (1, m, NB) of the hash buckets of the hidden item among `items`, for each of m hash maps."""
    template = Template()
    ids = with_specials(np.array([items], np.int32), template)  # (1, L)
    visible = [item for item in items if item != MASK_ID]
    positions = np.where(ids < 0, -1 - ids, 0)
    positions[ids >= 0] = len(template.specials) + np.arange(len(visible))
    codes = coder.codes()[visible]
    labels = np.full((*ids.shape, coder.n_maps), NO_LABEL)
    labels[0, 1 + items.index(MASK_ID)] = 0  # any true item: only the place counts
    batch = Batch(
        torch.from_numpy(codes),
        torch.from_numpy(positions.astype(np.int64)),
        torch.ones(ids.shape, dtype=torch.bool),
        labels=torch.from_numpy(labels),
        padded=False,
    )
    return case_distributions(model, head, batch)[0]
