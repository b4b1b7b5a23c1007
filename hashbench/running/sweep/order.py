"""The order in which the runs of a sweep are begun."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hashbench.running.runs.base import Run


def cheap_first(runs: Sequence[Run], seconds: Callable[[Run], float]) -> list[str]:
    """Ids of the runs, those first that cost least together with all that they need; each after what it needs.

    Of equal ones the one that was planned first comes first.
    """
    by_id = {run.id: run for run in runs}
    needs: dict[str, list[str]] = {}

    def all_needs(run_id: str) -> list[str]:
        """What a run needs, directly or through others, each after what it needs itself."""
        if run_id not in needs:
            direct = [need for need in by_id[run_id].needs if need in by_id]
            needs[run_id] = list(dict.fromkeys(earlier for need in direct for earlier in (*all_needs(need), need)))
        return needs[run_id]

    own = {run_id: seconds(run) for run_id, run in by_id.items()}

    def cost(run_id: str) -> float:
        return own[run_id] + sum(own[need] for need in all_needs(run_id))

    in_turn = sorted(by_id, key=cost)
    return list(dict.fromkeys(next_id for run_id in in_turn for next_id in (*all_needs(run_id), run_id)))
