"""The generated language of the built-in data: stems with endings, topics, sentiment, and sentences made of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from random import Random
from typing import TypeVar

from hashbench.data.sources.fingerprints import digest

# The last topics are for mnli's mismatched set and the corpus.
N_TOPICS, UNSEEN_TOPICS = 8, 2
NOUN_ENDINGS, VERB_ENDINGS, ADJECTIVE_ENDINGS = ("", "in", "et", "etin"), ("a", "ol", "ash"), ("i", "er", "isto")
CONSONANTS, VOWELS = "bdfgklmnprstvz", "aeiou"
SKEW = 2.0  # the first words of a class are the frequent ones
T = TypeVar("T")


class Draw:
    """Seeded choices. Only `random()` is used: Python keeps its sequence the same in all versions."""

    def __init__(self, *seed: str) -> None:
        self._random = Random(int(digest("builtin", *seed)[:16], 16)).random

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self._random() < probability

    def below(self, n: int) -> int:
        """A number from 0 to n - 1."""
        return int(self._random() * n)

    def one(self, items: Sequence[T], skew: float = 1.0) -> T:
        """One of them; a larger skew prefers the first."""
        return items[int(self._random() ** skew * len(items))]


class Stems:
    """The stems of the language, by class."""

    def __init__(self) -> None:
        stems = _stems(Draw("stems"))

        def take(n: int) -> tuple[str, ...]:
            return tuple(next(stems) for _ in range(n))

        self.nouns = tuple(take(24) for _ in range(N_TOPICS))
        self.verbs = tuple(take(10) for _ in range(N_TOPICS))
        self.neutral, self.good, self.bad = take(30), take(10), take(10)
        self.stray, self.contrast, self.negation, self.doubt, self.answer = (take(3) for _ in range(5))
        self.questions, self.articles, self.prepositions = take(4), take(3), take(5)
        self.degrees = tuple(take(1) for _ in range(6))  # from "not at all" to "just so"


@dataclass(frozen=True)
class Sentence:
    """A sentence by its stems, so that it can be said in several ways."""

    topic: int
    subject: str
    verb: str
    target: str
    adjectives: tuple[str, ...] = ()  # of the target
    # Words that carry a label: first of all, and again before the target
    extra: tuple[str, ...] = ()


@lru_cache(maxsize=1)
def words() -> Stems:
    """The words of the language."""
    return Stems()


def sentence(draw: Draw, topic: int, adjectives: Sequence[str] = ()) -> Sentence:
    """A sentence about a topic; adjectives are neutral ones, or none, unless given."""
    nouns, verbs = words().nouns[topic], words().verbs[topic]
    if not adjectives and draw.chance(0.4):
        adjectives = (draw.one(words().neutral, SKEW),)
    return Sentence(topic, draw.one(nouns, SKEW), draw.one(verbs, SKEW), draw.one(nouns, SKEW), tuple(adjectives))


def other_words(draw: Draw, statement: Sentence) -> Sentence:
    """A sentence about the same topic that shares at most the verb."""
    nouns = [noun for noun in words().nouns[statement.topic] if noun not in (statement.subject, statement.target)]
    return replace(statement, subject=draw.one(nouns), target=draw.one(nouns), adjectives=())


def spell(draw: Draw, statement: Sentence, *, end: str = ".", begin: Sequence[str] = ()) -> str:
    """The sentence as text, each stem with an ending of its class; the parts may stand in another order."""
    stems = (statement.subject, statement.target)
    nouns = [[draw.one(words().articles), noun + draw.one(NOUN_ENDINGS, SKEW)] for noun in stems]
    adjectives = [adjective + draw.one(ADJECTIVE_ENDINGS, SKEW) for adjective in statement.adjectives]
    verb = statement.verb + draw.one(VERB_ENDINGS)
    target = [*statement.extra, *adjectives, *nouns[1]]
    if draw.chance(0.25):
        parts = [*target, verb, *nouns[0]]
    else:
        parts = [*nouns[0], verb, *target]
    if draw.chance(0.3):
        parts += [draw.one(words().prepositions), draw.one(words().nouns[statement.topic], SKEW)]
    text = " ".join([*statement.extra, *begin, *parts])
    return text[0].upper() + text[1:] + end


def document(draw: Draw) -> str:
    """A text of some sentences about one topic in one mood, with the label words of all tasks now and then."""
    topic = draw.below(N_TOPICS)
    mood = draw.one((words().neutral, words().good, words().bad))
    rare = (*words().contrast, *words().negation, *words().doubt, *words().answer, *sum(words().degrees, ()))
    sentences = []
    for _ in range(6 + draw.below(9)):
        statement = sentence(draw, topic, [draw.one(mood, SKEW)] if draw.chance(0.5) else ())
        sentences.append(spell(draw, replace(statement, extra=(draw.one(rare),) if draw.chance(0.2) else ())))
    return " ".join(sentences)


def _stems(draw: Draw) -> Iterator[str]:
    """Different stems of one or two syllables, for ever."""
    seen = set()
    while True:
        stem = draw.one(CONSONANTS) + draw.one(VOWELS) + draw.one(CONSONANTS)
        if draw.chance(0.8):
            stem += draw.one(VOWELS) + draw.one(CONSONANTS)
        if stem not in seen:
            seen.add(stem)
            yield stem
