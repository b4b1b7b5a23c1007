"""How far a preparation is, in lines: texts read for a vocabulary, then documents, tokens a second, time left."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator

from hashbench.common.showing import duration_text
from hashbench.data.corpora.tokenizing import ShardFacts

SAY_EVERY_S = 5.0


class PreparationProgress:
    """Takes finished shards and says what they come to, now and then."""

    def __init__(
        self, say: Callable[[str], None], total_bytes: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._say, self._total_bytes, self._clock = say, total_bytes, clock
        self._documents = self._tokens = self._bytes = 0  # of all finished shards
        self._new_tokens = self._new_bytes = 0  # of those that were not found finished
        self._began = self._said = clock()

    def begin(self) -> None:
        """From now on new shards are made."""
        self._began = self._clock()

    def done(self, size: int, facts: ShardFacts, *, found: bool) -> None:
        """A shard of so many bytes is finished; `found`: by an earlier process."""
        self._documents += facts.documents
        self._tokens += facts.tokens
        self._bytes += size
        if not found:
            self._new_tokens += facts.tokens
            self._new_bytes += size
        self._now_and_then(self._documents, self._tokens, self._new_tokens)

    def going_on(self, facts: ShardFacts) -> None:
        """A shard has come so far."""
        self._now_and_then(
            self._documents + facts.documents, self._tokens + facts.tokens, self._new_tokens + facts.tokens
        )

    def end(self) -> None:
        """All shards are finished."""
        self._line(self._documents, self._tokens, self._new_tokens)

    def _now_and_then(self, documents: int, tokens: int, new_tokens: int) -> None:
        if self._clock() - self._said >= SAY_EVERY_S:
            self._line(documents, tokens, new_tokens)

    def _line(self, documents: int, tokens: int, new_tokens: int) -> None:
        self._said = self._clock()
        seconds = max(self._said - self._began, 1e-9)
        left = ""
        if self._new_bytes and self._bytes < self._total_bytes:
            left = f", {duration_text(seconds * (self._total_bytes - self._bytes) / self._new_bytes)} left"
        rate = f", {new_tokens / seconds:,.0f} a second" if new_tokens else ""
        self._say(f"{documents:,} documents, {tokens:,} tokens{rate}{left}")


def telling(
    texts: Iterable[str], say: Callable[[str], None], what: str, clock: Callable[[], float] = time.monotonic
) -> Iterator[str]:
    """The same texts; says now and then how many were read, and at their end that what follows is no reading."""
    said, documents, characters = clock(), 0, 0
    for text in texts:
        documents, characters = documents + 1, characters + len(text)
        if clock() - said >= SAY_EVERY_S:
            said = clock()
            say(f"{what}: {documents:,} documents, {characters:,} characters read")
        yield text
    say(f"{what}: all {documents:,} documents, {characters:,} characters read; their words are counted and merged")
