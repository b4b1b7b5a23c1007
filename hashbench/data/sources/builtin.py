"""Built-in data: eight generated tasks shaped like GLUE's, and a corpus of the same language. No data is shipped.

In every task words decide, with noise: sentiment words in sst2, stray particles in cola, and in the tasks with pairs
the overlap of the two texts together with words of contrast, doubt or answer. Such scores say that the machinery works,
and nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from random import Random
from types import MappingProxyType
from typing import TypeVar

from hashbench.data.sources.files import Cells
from hashbench.data.sources.fingerprints import digest

CORPUS = "builtin"
NOTE = "built-in data: a generated toy language; these are not GLUE scores"
UNSEEN_SPLIT = "validation_mismatched"  # its topics are those that training does not have
# Sizes and shares were chosen here; none corresponds to one of GLUE.
N_DOCUMENTS = 3_000
VALIDATION_ROWS = 200
TRAIN_ROWS = dict(cola=1_000, sst2=1_000, mrpc=800, stsb=1_000, qqp=1_000, mnli=1_000, qnli=1_000, rte=800)
CUE = 0.93  # how often the word that gives a label away is there
NOISE = 0.04  # how often it is there although the label is another

GeneratedRow = tuple[object, ...]  # the texts, then the label
# The last topics are for mnli's mismatched set and the corpus.
N_TOPICS, UNSEEN_TOPICS = 8, 2
NOUN_ENDINGS, VERB_ENDINGS, ADJECTIVE_ENDINGS = ("", "in", "et", "etin"), ("a", "ol", "ash"), ("i", "er", "isto")
CONSONANTS, VOWELS = "bdfgklmnprstvz", "aeiou"
SKEW = 2.0  # the first words of a class are the frequent ones
T = TypeVar("T")


@dataclass(frozen=True)
class Generated:
    """A task that is generated, and the names of its columns."""

    name: str
    columns: tuple[str, ...]  # the texts, then the label


@dataclass(frozen=True)
class BuiltinTable:
    """One split of a built-in task."""

    task: Generated
    split: str

    @property
    def where(self) -> str:
        """Task and split, as messages name them."""
        return f"built-in {self.task.name} {self.split}"

    def fingerprint(self) -> str:
        """SHA-256 (hex) of the generated cells."""
        return digest("builtin", self.task.name, self.split, json.dumps(dict(task_table(self.task, self.split))))

    def n_rows(self) -> int:
        """The number of generated rows."""
        return TRAIN_ROWS[self.task.name] if self.split == "train" else VALIDATION_ROWS

    def read(self, columns: Sequence[str], notes: list[str] | None = None) -> dict[str, Cells]:
        """The cells of the requested columns by name; nothing is odd in them."""
        table = task_table(self.task, self.split)
        return {name: list(table[name]) for name in columns}

    def class_names(self, column: str) -> tuple[str, ...]:
        """(), since the tasks themselves name their classes."""
        return ()


@lru_cache(maxsize=32)
def task_table(task: Generated, split: str) -> Mapping[str, tuple[object, ...]]:
    """Columns of a split: the texts, label and idx, as GLUE calls them. All callers share one; none can change it."""
    draw, make = Draw("task", task.name, split), MAKERS[task.name]
    n_rows = BuiltinTable(task, split).n_rows()
    seen = N_TOPICS - UNSEEN_TOPICS
    first, n_topics = (seen, UNSEEN_TOPICS) if split == UNSEEN_SPLIT else (0, seen)
    rows = [make(draw, first + draw.below(n_topics)) for _ in range(n_rows)]
    columns = zip(*rows, strict=True)
    return MappingProxyType({**dict(zip(task.columns, columns, strict=True)), "idx": tuple(range(n_rows))})


@lru_cache(maxsize=1)
def corpus() -> tuple[str, ...]:
    """The documents of the built-in corpus."""
    draw = Draw("corpus")
    return tuple(document(draw) for _ in range(N_DOCUMENTS))


def corpus_fingerprint() -> str:
    """SHA-256 (hex) of the texts of the built-in corpus.

    Computed at each call, in milliseconds: a remembered one could be of other texts.
    """
    return digest("builtin corpus", *corpus())


def _cue(draw: Draw, group: Sequence[str], wanted: bool) -> tuple[str, ...]:
    """A random word of the group with probability CUE if wanted, else NOISE; otherwise nothing."""
    return (draw.pick(group),) if draw.chance(CUE if wanted else NOISE) else ()


def _sst2(draw: Draw, topic: int) -> GeneratedRow:
    label = draw.below(2)
    moods = (words().bad, words().good)
    adjectives = [draw.pick(moods[label if draw.chance(CUE) else 1 - label]) for _ in range(1 + draw.below(3))]
    return spell(draw, sentence(draw, topic, adjectives), end=" ."), label


def _cola(draw: Draw, topic: int) -> GeneratedRow:
    label = draw.below(2)
    parts = spell(draw, sentence(draw, topic)).split(" ")
    for stray in _cue(draw, words().stray, label == 0) * 2:
        parts.insert(1 + draw.below(len(parts) - 1), stray)
    return " ".join(parts), label


def _paraphrase(share: float, end: str, question: bool) -> Callable[[Draw, int], GeneratedRow]:
    """A function that makes rows of mrpc or qqp: a sentence, then the sentence reworded, or one with other nouns."""

    def make(draw: Draw, topic: int) -> GeneratedRow:
        label = int(draw.chance(share))
        first = sentence(draw, topic)
        second = first if label else other_words(draw, first)
        second = replace(second, extra=_cue(draw, words().contrast, not label))
        begin = [draw.pick(words().questions)] if question else []
        return spell(draw, first, end=end, begin=begin), spell(draw, second, end=end, begin=begin), label

    return make


def _inference(n_classes: int) -> Callable[[Draw, int], GeneratedRow]:
    """A function that makes rows of rte or mnli: a premise, then a sentence entailed, denied, or (mnli) in doubt."""

    def make(draw: Draw, topic: int) -> GeneratedRow:
        label = draw.below(n_classes)
        premise = sentence(draw, topic)
        denied, doubtful = (label == 2, label == 1) if n_classes == 3 else (label == 1, False)
        second = other_words(draw, premise) if doubtful else premise
        extra = _cue(draw, words().negation, denied) + (_cue(draw, words().doubt, doubtful) if n_classes == 3 else ())
        return spell(draw, premise), spell(draw, replace(second, extra=extra)), label

    return make


def _qnli(draw: Draw, topic: int) -> GeneratedRow:
    label = draw.below(2)  # 0: the sentence answers the question
    statement = sentence(draw, topic)
    answer = statement if label == 0 else other_words(draw, statement)
    question = spell(draw, statement, end="?", begin=[draw.pick(words().questions)])
    return question, spell(draw, replace(answer, extra=_cue(draw, words().answer, label == 0))), label


def _stsb(draw: Draw, topic: int) -> GeneratedRow:
    level = draw.below(6)
    first = sentence(draw, topic, [draw.pick(words().neutral)])
    other = other_words(draw, first)
    parts = {name: getattr(first if draw.chance(level / 5) else other, name) for name in ("subject", "verb", "target")}
    shown = level if draw.chance(CUE) else draw.below(6)
    second = Sentence(topic, **parts, extra=(draw.pick(words().degrees[shown]),))
    score = min(5.0, max(0.0, round(level + 0.2 * (draw.below(5) - 2), 2)))
    return spell(draw, first), spell(draw, second), score


MAKERS: dict[str, Callable[[Draw, int], GeneratedRow]] = {
    "cola": _cola,
    "sst2": _sst2,
    "mrpc": _paraphrase(0.55, " .", question=False),
    "stsb": _stsb,
    "qqp": _paraphrase(0.55, "?", question=True),
    "mnli": _inference(3),
    "qnli": _qnli,
    "rte": _inference(2),
}


class Draw:
    """Seeded choices. Only `random()` is used: Python keeps its sequence the same in all versions."""

    def __init__(self, *seed: str) -> None:
        self._random = Random(int(digest("builtin", *seed)[:16], 16)).random

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self._random() < probability

    def below(self, n: int) -> int:
        """A random number from 0 to n - 1."""
        return int(self._random() * n)

    def pick(self, items: Sequence[T], skew: float = 1.0) -> T:
        """One of the items; a larger skew prefers the first ones."""
        return items[int(self._random() ** skew * len(items))]


class Stems:
    """The word stems of the generated language, by class of word."""

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
    """A sentence by its stems, so that it can be worded in several ways."""

    topic: int
    subject: str
    verb: str
    target: str
    adjectives: tuple[str, ...] = ()  # of the target
    # Words that carry a label: first of all, and again before the target
    extra: tuple[str, ...] = ()


@lru_cache(maxsize=1)
def words() -> Stems:
    """The word stems of the generated language, made once."""
    return Stems()


def sentence(draw: Draw, topic: int, adjectives: Sequence[str] = ()) -> Sentence:
    """A random sentence about a topic with these adjectives; without any it sometimes gets a neutral one."""
    nouns, verbs = words().nouns[topic], words().verbs[topic]
    if not adjectives and draw.chance(0.4):
        adjectives = (draw.pick(words().neutral, SKEW),)
    return Sentence(topic, draw.pick(nouns, SKEW), draw.pick(verbs, SKEW), draw.pick(nouns, SKEW), tuple(adjectives))


def other_words(draw: Draw, statement: Sentence) -> Sentence:
    """The sentence with another subject and target of its topic, and without adjectives."""
    nouns = [noun for noun in words().nouns[statement.topic] if noun not in (statement.subject, statement.target)]
    return replace(statement, subject=draw.pick(nouns), target=draw.pick(nouns), adjectives=())


def spell(draw: Draw, statement: Sentence, *, end: str = ".", begin: Sequence[str] = ()) -> str:
    """The sentence as text, each stem with an ending of its class; the parts may come in another order."""
    stems = (statement.subject, statement.target)
    nouns = [[draw.pick(words().articles), noun + draw.pick(NOUN_ENDINGS, SKEW)] for noun in stems]
    adjectives = [adjective + draw.pick(ADJECTIVE_ENDINGS, SKEW) for adjective in statement.adjectives]
    verb = statement.verb + draw.pick(VERB_ENDINGS)
    target = [*statement.extra, *adjectives, *nouns[1]]
    if draw.chance(0.25):
        parts = [*target, verb, *nouns[0]]
    else:
        parts = [*nouns[0], verb, *target]
    if draw.chance(0.3):
        parts += [draw.pick(words().prepositions), draw.pick(words().nouns[statement.topic], SKEW)]
    text = " ".join([*statement.extra, *begin, *parts])
    return text[0].upper() + text[1:] + end


def document(draw: Draw) -> str:
    """A text of some sentences about one topic in one mood, with the label words of all tasks now and then."""
    topic = draw.below(N_TOPICS)
    mood = draw.pick((words().neutral, words().good, words().bad))
    rare = (*words().contrast, *words().negation, *words().doubt, *words().answer, *sum(words().degrees, ()))
    sentences = []
    for _ in range(6 + draw.below(9)):
        statement = sentence(draw, topic, [draw.pick(mood, SKEW)] if draw.chance(0.5) else ())
        sentences.append(spell(draw, replace(statement, extra=(draw.pick(rare),) if draw.chance(0.2) else ())))
    return " ".join(sentences)


def _stems(draw: Draw) -> Iterator[str]:
    """Random stems of one or two syllables, all different, without end."""
    seen = set()
    while True:
        stem = draw.pick(CONSONANTS) + draw.pick(VOWELS) + draw.pick(CONSONANTS)
        if draw.chance(0.8):
            stem += draw.pick(VOWELS) + draw.pick(CONSONANTS)
        if stem not in seen:
            seen.add(stem)
            yield stem
