from __future__ import annotations

from hashbench.data.corpora.tokenizing import PreparationProgress, ShardFacts, telling


def facts(documents: int, tokens: int) -> ShardFacts:
    return ShardFacts(documents, 0, tokens)


def test_lines_tell_documents_rate_and_time_left() -> None:
    lines: list[str] = []
    now = 100.0
    told = PreparationProgress(lines.append, total_bytes=1000, clock=lambda: now)
    told.done(400, facts(10, 1_000), before=True)
    told.begin()
    now += 2
    told.going_on(facts(3, 50))  # too early for a line
    assert not lines
    now += 18
    told.done(200, facts(5, 500), before=False)
    assert lines == ["15 documents, 1,500 tokens, 25 a second, 40 s left"]  # 400 bytes at 10 a second
    now += 20
    told.done(400, facts(5, 500), before=False)
    told.end()
    assert lines[1:] == ["20 documents, 2,000 tokens, 25 a second"] * 2


def test_what_was_found_finished_has_no_rate() -> None:
    lines: list[str] = []
    told = PreparationProgress(lines.append, total_bytes=400, clock=lambda: 0.0)
    told.done(400, facts(10, 1_000), before=True)
    told.begin()
    told.end()
    assert lines == ["10 documents, 1,000 tokens"]


def test_texts_that_a_vocabulary_is_learned_from_are_counted() -> None:
    lines: list[str] = []
    now = 0.0
    texts = telling(["four"] * 3, lines.append, "training", clock=lambda: now)
    assert next(texts) == "four" and not lines
    now += 6
    assert next(texts) == "four"
    assert lines == ["training: 2 documents, 8 characters read"]
    assert list(texts) == ["four"]
    assert lines[1:] == ["training: all 3 documents, 12 characters read; their words are counted and merged"]
