"""The paradigms of a set of minimal pairs with the groups that they belong to, as runs note them for tables."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

NOTE = "paradigms"  # the topic under which a run on minimal pairs stores them


@dataclass(frozen=True)
class Paradigms:
    """The paradigms by their numbers, which are the targets of stored predictions, and their groups by level."""

    names: tuple[str, ...]
    groups: Mapping[str, tuple[str, ...]]  # level, as "phenomenon" -> the group of each paradigm
    # Whether both sentences of all its pairs hold the same words, so that how frequent words are decides nothing
    same_words: tuple[bool, ...]

    def note(self) -> str:
        """The paradigms as the text of a run's note."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def of_notes(cls, notes: Mapping[str, str]) -> Paradigms | None:
        """The paradigms among the notes of a run; None where it has none."""
        if NOTE not in notes:
            return None
        read = json.loads(notes[NOTE])
        groups = {level: tuple(of) for level, of in read["groups"].items()}
        return cls(tuple(read["names"]), groups, tuple(read["same_words"]))
