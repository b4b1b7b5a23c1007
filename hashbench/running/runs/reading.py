"""How much of its texts a fine-tuning reads, counted once for each data set, tokenizer and limit and then remembered.

The digest is made of a run's spec, so that it is the same before a vocabulary is learned, while a run is carried out
and when a stored run is counted later.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hashbench.common.measured import TextsRead
from hashbench.data.sources.fingerprints import cache_folder, cache_room, digest, read_note, write_note
from hashbench.data.tasks.text_data import TaskData
from hashbench.models.embeddings.base import Template
from hashbench.models.text.base import Tokenizer
from hashbench.running.experiment.identity import whole
from hashbench.running.experiment.recipes import Finetune, input_length

FOLDER = "measured"  # in the cache
FORMAT = 1  # raised when what is counted changes


def counted_before(spec: Mapping[str, Any]) -> TextsRead | None:
    """The counts that the cache has for the fine-tuning of a spec; None where nobody has counted them here."""
    record = read_note(cache_folder() / FOLDER / _name(spec))
    return None if record is None else TextsRead.of_record(record)


def counted(
    spec: Mapping[str, Any], data: TaskData, tokenizer: Tokenizer, template: Template, finetune: Finetune, cache: Path
) -> TextsRead:
    """The counts for the fine-tuning of a spec, counted now if the cache has none."""
    before = counted_before(spec)
    if before is not None:
        return before
    from hashbench.data.tasks.reading import texts_read  # torch

    length = input_length(finetune, data, tokenizer, template, cache)
    counts = texts_read(data, tokenizer, template, length, cache)
    write_note(cache_room(FOLDER) / _name(spec), counts.record())
    return counts


def digest_of(spec: Mapping[str, Any]) -> str:
    """SHA-256 (hex) of all that decides the counts: data, tokenizer, the corpora that it learns from, inputs' form."""
    model = whole(spec["model"])
    parts = [spec["data"], model["tokenizer"], spec["corpus"], model["template"], spec["finetune"]["max_length"]]
    return digest("texts read", str(FORMAT), json.dumps(parts, sort_keys=True))


def _name(spec: Mapping[str, Any]) -> str:
    return f"texts-{digest_of(spec)}.json"
