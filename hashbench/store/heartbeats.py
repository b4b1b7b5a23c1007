"""Heartbeats as this process saw them, by a clock of its own that nobody sets.

SQLite has no clock but that of each process: one that runs ahead would call every lease over. So a process takes over
only what it has itself seen standing still for as long as a lease lasts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping


class HeartbeatMonitor:
    """The last heartbeat of each attempt, and since when it has not moved."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: dict[int, tuple[float, float]] = {}  # heartbeat, and when it was seen first

    def stood_still(self, beats: Mapping[int, float]) -> dict[int, float]:
        """Seconds since each attempt's heartbeat was seen first; what is no longer among `beats` is forgotten."""
        now = self._clock()
        before = self._seen
        self._seen = {
            attempt_id: before[attempt_id] if attempt_id in before and before[attempt_id][0] == beat else (beat, now)
            for attempt_id, beat in beats.items()
        }
        return {attempt_id: now - since for attempt_id, (_, since) in self._seen.items()}
