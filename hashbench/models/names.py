"""The names of models and groups, known without torch: most names can be refused before a second is spent on it.

The specs lie beside the classes that they name, so listing them imports torch. The names that were listed are kept
beside the byte code of the embeddings, for as long as no file of `hashbench.models` changes.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from hashbench.common.atomic import replace_text
from hashbench.common.checksums import FileSum
from hashbench.common.errors import near_match
from hashbench.common.registry import VARIABLE, entries, registered, unreadable

FOLDER = Path(__file__).parent
NAMES_FILE = FOLDER / "embeddings" / "__pycache__" / "names.json"


class Names(NamedTuple):
    """Names that an experiment may list as models."""

    models: tuple[str, ...]
    groups: tuple[str, ...]


def known_names() -> Names:
    """The names of all models and groups. Where there are plug-ins the registry is listed, which imports torch."""
    if os.environ.get(VARIABLE) or entries():
        return _listed()
    state = [[str(file.relative_to(FOLDER)), FileSum.of(file).sha256] for file in sorted(FOLDER.rglob("*.py"))]
    with contextlib.suppress(OSError, ValueError, KeyError):
        kept = json.loads(NAMES_FILE.read_text(encoding="utf-8"))
        if kept["state"] == state:
            return Names(tuple(kept["models"]), tuple(kept["groups"]))
    names = _listed()
    with contextlib.suppress(OSError):  # an installation that cannot be written is slower, and nothing else
        NAMES_FILE.parent.mkdir(exist_ok=True)
        replace_text(NAMES_FILE, json.dumps({"state": state, **names._asdict()}))
    return names


def unknown_model(name: str, others: Sequence[str] = ()) -> str:
    """The message about a name that no model has; `others`: further names that are allowed in its place."""
    near = near_match(name, [*known_names().models, *others])
    return f"unknown model '{name}'{near} (list: hashbench models){unreadable()}"


def _listed() -> Names:
    models = registered("model")
    return Names(tuple(models), tuple(dict.fromkeys(group for spec in models.values() for group in spec.groups)))


EncoderSize = Literal["tiny", "mini", "small", "medium", "base"]  # the keys of encoders.transformer.SHAPES
Pooling = Literal["first", "max", "mean", "attention"]  # of the states of a text, by the head of a task
