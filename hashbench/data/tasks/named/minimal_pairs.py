"""Sets of minimal pairs by name.

BLiMP (Warstadt et al. 2020, TACL 8): 67 paradigms of 1,000 pairs in four fields of grammar. Its files have 13 terms for
the paper's 12 phenomena (two paradigms of argument structure are called s-selection), and two spellings of one field.
"""

from __future__ import annotations

from hashbench.data.sources.hub import HubPlace
from hashbench.data.tasks.kinds.minimal_pairs import pair_task
from hashbench.data.tasks.pairs import SPLIT

TASKS = [
    pair_task(
        "blimp",
        label="UID",
        groups={"phenomenon": "linguistics_term", "field": "field"},
        renamed={"s-selection": "argument_structure", "syntax/semantics": "syntax_semantics"},
        official_rows={SPLIT: 67_000},
        # A copy with all paradigms in one table
        hub=HubPlace("WillHeld/blimp", rows={"train": 67_000}),
    )
]
