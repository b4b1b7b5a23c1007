"""Time that passes, by clocks that nobody can set: a computer's clock of the day may be corrected during a run."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

monotonic = time.monotonic  # seconds; tests put another function here


def boot_time() -> float | None:
    """Seconds since this machine started, its sleep included; None on systems other than Linux."""
    number = getattr(time, "CLOCK_BOOTTIME", None)
    return None if number is None else time.clock_gettime(number)


@dataclass(frozen=True)
class Stopwatch:
    """A stopwatch that was started when it was made."""

    began: float = field(default_factory=lambda: monotonic())
    booted: float | None = field(default_factory=lambda: boot_time())
    read: tuple[float, float] | None = None  # seconds and sleep of one that was stopped

    def stopped(self) -> Stopwatch:
        """This stopwatch, stopped now; one that was stopped before is itself."""
        return self if self.read is not None else replace(self, read=(self.seconds, self.slept))

    @property
    def seconds(self) -> float:
        """Seconds that it runs or ran, by the monotonic clock, which stops while a machine sleeps (Linux, macOS)."""
        return max(0.0, monotonic() - self.began) if self.read is None else self.read[0]

    @property
    def slept(self) -> float:
        """Seconds that the machine slept meanwhile; 0 where that is not known."""
        if self.read is not None:
            return self.read[1]
        now = boot_time()
        return 0.0 if now is None or self.booted is None else max(0.0, now - self.booted - self.seconds)
