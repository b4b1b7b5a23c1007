"""A training that is told to stop."""

from __future__ import annotations


class StopAfter:
    """An event that is set once it was asked `n` times: the run stops behind step n."""

    def __init__(self, n):
        self.left = n

    def is_set(self):
        self.left -= 1
        return self.left < 0
