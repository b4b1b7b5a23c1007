"""What a trained model of items thinks stands beside some items: its ranking for a hand-written context.

Page links are a set, beside which one more is asked for; a text has an order, and [MASK] where an item is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from hashbench.coders.bloom import Bloom
from hashbench.coders.registry import make_coder
from hashbench.data.fingerprints import cache_folder
from hashbench.embeddings.base import Batch, Template
from hashbench.embeddings.superbloom import Superbloom, SuperbloomText
from hashbench.encoders.registry import make_encoder
from hashbench.errors import InputError, near_match
from hashbench.objectives.base import MASK_ID, NO_LABEL
from hashbench.objectives.entities import EntityHead, entity_objective
from hashbench.objectives.item_search import ItemSearch
from hashbench.results import queries
from hashbench.runs.items import KIND as ITEM_TRAINING
from hashbench.store.engine import open_store
from hashbench.store.status import find_run, run_spec
from hashbench.tasks.catalogue import item_kind_of
from hashbench.tasks.item_batches import with_specials
from hashbench.training.entities import case_distributions
from hashbench.training.model import Model, load_weights

HIDDEN = "[MASK]"  # in a text: the place that is asked for
EMBEDDINGS = {each.__name__: each for each in (Superbloom, SuperbloomText)}
Neighbour = dict[str, str | int | float]  # rank, item, score, in_context
LOOKED_AT = 200_000  # most frequent items among which a misspelled one is looked for


def neighbours(db: str, run: str, context: list[str], *, top: int, beam: int | None) -> list[Neighbour]:
    """The `top` items for a set of items with one hidden: rank, item, log-probability, whether it was given.

    `beam` None: exact. Raises InputError for an unknown run, one without weights, an item it does not know, or a text
    that does not hide one item.
    """
    spec, folder = _find(db, run)
    of_text = item_kind_of(spec)[0].in_order
    if context.count(HIDDEN) != of_text:
        wrong = f"write {HIDDEN} once, in the place of the item to find" if of_text else f"leave {HIDDEN} out"
        raise InputError(f"--run {run}: was trained on {'a text' if of_text else 'page links'}; {wrong}")
    coder, model, head = _loaded(spec, folder)
    items = [MASK_ID if each == HIDDEN else _item(coder, each) for each in context]
    logs = _distribution(coder, model, head, items if of_text else [MASK_ID, *items])
    search = ItemSearch(coder.maps, coder.alpha)
    ranking = search.best(logs, top, max(top, 1)) if beam is None else search.approximate(logs, top, beam)
    rows = zip(ranking.items[0].tolist(), ranking.scores[0].tolist(), strict=True)
    return [
        {"rank": rank, "item": coder.item(item), "score": round(score, 3), "in_context": "yes" if item in items else ""}
        for rank, (item, score) in enumerate(rows, 1)
        if item >= 0
    ]


def _find(db: str, run: str) -> tuple[Mapping[str, Any], Path]:
    """Spec and folder of a finished training on hidden items."""
    store = open_store(db, create=False, read_only=True)
    run_id = find_run(store, run)
    spec = run_spec(store, run_id)
    if spec["kind"] != ITEM_TRAINING.name:
        raise InputError(f"--run {run}: predicts no hidden items; name a training on a page-link set or on phrases")
    folder = cache_folder() / "artifacts" / run_id
    if not (folder / "coder.npz").is_file():
        state = store.query(queries.STATE_OF_RUN, id=run_id)[0]["state"]
        if state != "done":
            raise InputError(f"--run {run}: is {state}, not done; finish it with hashbench sweep")
        raise InputError(f"--run {run}: no weights in {folder}; sweep it with keep_weights: best")
    return spec, folder


def _loaded(spec: Mapping[str, Any], folder: Path) -> tuple[Bloom, Model, EntityHead]:
    """Coder, model and head of a run, from what it stored."""
    block = spec["model"]
    item_kind, task_block = item_kind_of(spec)
    recipe = dict(block["coder"])
    coder = make_coder(recipe.pop("name"), **recipe)
    assert isinstance(coder, Bloom)
    with np.load(folder / "coder.npz") as state:
        coder.restore(dict(state))
    shape = dict(block["encoder"])
    encoder = make_encoder(shape.pop("kind"), shape.pop("size"), **shape)
    kind, special = EMBEDDINGS[block["embedding"]], coder.special_items
    embedding = kind(encoder.config.dim, maps=coder.n_maps, special_items=special, num_rows=coder.num_rows)
    model = Model(embedding, encoder)
    arguments = {key: value for key, value in block["objective"].items() if key != "kind"}
    head = EntityHead(
        encoder.config.dim,
        coder.num_rows,
        coder.n_maps,
        entity_objective(arguments),
        eps=encoder.config.eps,
        special_items=special,
        next_sentence=item_kind.next_sentence(task_block),
    )
    load_weights(model, folder / "weights.safetensors")
    load_weights(head, folder / "head.safetensors")
    return coder, model.eval(), head.eval()


def _item(coder: Bloom, name: str) -> int:
    place = coder.place(name.encode())
    if place is None:
        near = near_match(name, coder.items()[:LOOKED_AT])
        hint = near or "; its items are the linked pages of the data, or the words and pairs (of_the) of the text"
        raise InputError(f"item {name!r}: not in the vocabulary{hint}")
    return place


def _distribution(coder: Bloom, model: Model, head: EntityHead, items: list[int]) -> torch.Tensor:
    """Log-probabilities (1, m, NB) at the hidden one of some items."""
    template = Template()
    ids = with_specials(np.array([items], np.int32), template)  # (1, L)
    given = [item for item in items if item != MASK_ID]
    positions = np.where(ids < 0, -1 - ids, 0)
    positions[ids >= 0] = len(template.specials) + np.arange(len(given))
    codes = coder.codes()[given]
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
