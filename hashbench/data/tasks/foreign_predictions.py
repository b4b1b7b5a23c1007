"""Predictions of other programs on the examples of a split, matched with them by a digest of texts and label.

A file has a row an example, as JSON Lines, in one of three forms: the samples of lm-evaluation-harness (`doc`,
`filtered_resps`), example records of Every Eval Ever (`input`, `output`), or the task's own columns with `prediction`.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hashbench.common.errors import InputError
from hashbench.common.showing import SHOWN_CHARACTERS, whole_number
from hashbench.data.sources.labels import Classes, label_of
from hashbench.data.sources.opening import opened
from hashbench.data.sources.values import LARGEST_FLOAT32, narrowed
from hashbench.data.tasks.base import Task
from hashbench.data.tasks.text_data import Split, TaskData

ANSWERS = ("filtered_resps", "resps")  # keys of lm-evaluation-harness, the first that is there
FORMS = "samples of lm-evaluation-harness, examples of Every Eval Ever, or rows with the task's columns and prediction"


@dataclass(frozen=True)
class NumberedChoice:
    """The number of the choice that a program took as the likeliest, before it is known which class that is."""

    number: int


@dataclass(frozen=True)
class ForeignRow:
    """A row of a file: the digest of its texts and label, and its prediction."""

    digest: str
    prediction: float | int | NumberedChoice
    target: int | None = None  # the number of the right choice, where choices are numbered
    line: int = 0


@dataclass(frozen=True)
class MatchedPredictions:
    """Predictions (n,) of the examples of a split: class ids, or values, float64 only where float32 loses some."""

    outputs: np.ndarray
    form: str  # of the file, in words
    n_rows: int  # of the file
    unused: int  # rows of examples that the split does not have


class _Rows:
    """The rows of a file, read as answers to a task."""

    def __init__(self, file: Path, data: TaskData, columns: Sequence[str], label: str, seed: str | None) -> None:
        self._file, self._data, self._columns, self._label, self._seed = file, data, columns, label, seed
        self.form = ""
        self._classes = Classes.of_trained(data.label_names, data.task.label_order, data.task.labels)

    def read(self) -> list[ForeignRow]:
        """The rows. Raises InputError, with the line, for one that is in no known form."""
        rows = []
        for line, record in _records(self._file):
            where = f"{self._file}:{line}"
            if "schema_version" in record and isinstance(record.get("input"), Mapping):
                row = self._of_schema(record, where)
            elif isinstance(record.get("doc"), Mapping):
                row = self._of_harness(record, where)
            elif "prediction" in record:
                self.form = "rows"
                row = self._row(self._texts(record, where), record, self._answer(record, where), where)
            else:
                raise InputError(f"{where}: no prediction in this row; a file has {FORMS}")
            if row is not None:
                rows.append(ForeignRow(row.digest, row.prediction, row.target, line))
        if not rows:
            raise InputError(f"{self._file}: has no prediction of task {self._data.task.name}")
        return rows

    def _of_schema(self, record: Mapping[str, Any], where: str) -> ForeignRow | None:
        """An example record; None for one of another task or seed."""
        self.form = "examples of Every Eval Ever"
        content, output = record["input"], record.get("output")
        if record.get("evaluation_name") != self._data.task.name:
            return None
        if self._seed is not None and (record.get("metadata") or {}).get("seed") != self._seed:
            return None
        reference, answers = content.get("reference"), output.get("raw") if isinstance(output, Mapping) else None
        if not (
            isinstance(content.get("raw"), str) and isinstance(reference, list) and len(reference) == 1 and answers
        ):
            raise InputError(f"{where}: input.raw, one input.reference and output.raw belong there")
        digest = _digest(content["raw"], self._named(reference[0], where))
        return ForeignRow(digest, self._named(answers[-1], where))

    def _of_harness(self, record: Mapping[str, Any], where: str) -> ForeignRow:
        """A sample of lm-evaluation-harness, whose answers are likelihoods of the choices, or a text."""
        self.form = "samples of lm-evaluation-harness"
        answers = next((record[key] for key in ANSWERS if key in record), None)
        doc, texts = record["doc"], self._texts(record["doc"], where)
        if not isinstance(answers, list) or not answers:
            raise InputError(f"{where}: no {' or '.join(ANSWERS)}; log samples with --log_samples")
        if len(answers) == 1:
            text = answers[0][0] if isinstance(answers[0], list) and answers[0] else answers[0]
            return self._row(texts, doc, self._named(text, where), where)
        choice = NumberedChoice(int(np.argmax([_likelihood(answer, where) for answer in answers])))
        right = whole_number(str(record.get("target")))
        if right is None and record.get("acc") == 1:
            right = choice.number
        return self._row(texts, doc, choice, where, target=right)

    def _texts(self, record: Mapping[str, Any], where: str) -> list[str]:
        for column in self._columns:
            if not isinstance(record.get(column), str):
                there = ", ".join(name for name, value in record.items() if isinstance(value, str))
                raise InputError(f"{where}: no text {column!r}; texts there: {there or 'none'} (--text COLUMN)")
        return [record[column] for column in self._columns]

    def _row(
        self,
        texts: Sequence[str],
        record: Mapping[str, Any],
        prediction: float | int | NumberedChoice,
        where: str,
        target: int | None = None,
    ) -> ForeignRow:
        if self._label not in record:
            raise InputError(f"{where}: no label {self._label!r}; keys there: {', '.join(record)} (--label COLUMN)")
        return ForeignRow(_digest("\n".join(texts), self._named(record[self._label], where)), prediction, target)

    def _answer(self, record: Mapping[str, Any], where: str) -> int | float:
        """The prediction of a plain row. Raises InputError for a number beside a name: it has no order to count in."""
        answer, label = record["prediction"], record.get(self._label)
        counts, named = isinstance(answer, int | float), isinstance(label, str) and label_of(label).kind == "name"
        if counts and named and self._data.label_names and str(answer) not in self._data.label_names:
            raise InputError(
                f"{where}: prediction {answer} is a number, and label {_short(label)} a name; write a name"
            )
        return self._named(answer, where)

    def _named(self, value: object, where: str) -> int | float:
        """A class as all labels are read (`Classes.name_of`); of a regression the value. Raises InputError for neither.

        A number is a place only where the classes have an order and none of them is named by a number.
        """
        names = self._data.label_names
        if not names:
            if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
                return float(value)
            raise InputError(f"{where}: {_short(value)} is no number; task {self._data.task.name} predicts numbers")
        name = self._classes.name_of(value)
        if name is None and isinstance(value, bool):  # of classes that have another name, 0 or 1
            name = self._classes.name_of(int(value))
        if name is not None:
            return names.index(name)
        listed = ", ".join(names[:8]) + (" ..." if len(names) > 8 else "")
        raise InputError(f"{where}: {_short(value)} is no class of task {self._data.task.name} ({listed})")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}..."


def _likelihood(answer: object, where: str) -> float:
    """The log-likelihood of a choice: [-1.5, false], or the number alone."""
    first = answer[0] if isinstance(answer, list) and answer else answer
    first = first[0] if isinstance(first, list) and first else first
    try:
        return float(first)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise InputError(f"{where}: {_short(answer)} is no likelihood of a choice") from None


def _records(file: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Line number and object of each line that is not empty."""
    try:
        with opened(file) as lines:
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                try:
                    record = json.loads(line)
                except (ValueError, RecursionError):
                    raise InputError(f"{file}:{number}: is no JSON; a file has an object a line") from None
                if not isinstance(record, Mapping):
                    raise InputError(f"{file}:{number}: is no object; a file has an object a line")
                yield number, record
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: is not UTF-8; write it in UTF-8") from error
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror or error}); check the path") from error


def _digest(text: str, label: int | float) -> str:
    """A digest of texts (white space is one blank) and label."""
    shown = str(label) if isinstance(label, int) else repr(float(np.float32(label)))
    return hashlib.sha256(f"{' '.join(text.split())}\x00{shown}".encode(errors="surrogatepass")).hexdigest()


def digests(split: Split) -> list[str]:
    """The digest of texts and label of each example."""
    is_class = np.issubdtype(split.labels.dtype, np.integer)
    labels = [int(label) if is_class else float(label) for label in split.labels]
    return [_digest("\n".join(texts), label) for *texts, label in zip(*split.texts, labels, strict=True)]


def matched(
    file: Path,
    data: TaskData,
    split: str,
    *,
    text: Sequence[str] = (),
    label: str | None = None,
    seed: str | None = None,
) -> MatchedPredictions:
    """The predictions in a file for all examples of a split.

    `text`, `label`: columns of the file, where they have other names than the task's; `seed`: of example records.
    Raises InputError, with counts, where an example has no row, or several that contradict each other.
    """
    task = data.task
    if text and len(text) != len(task.text):
        raise InputError(f"--text: task {task.name} has {len(task.text)} of texts; name as many columns")
    reader = _Rows(file, data, text or task.text, label or task.label, seed)
    rows = reader.read()
    by_digest: dict[str, list[ForeignRow]] = {}
    for row in rows:
        by_digest.setdefault(row.digest, []).append(row)
    wanted = digests(data.splits[split])
    n_matched = sum(digest in by_digest for digest in wanted)
    if n_matched < len(wanted):
        raise InputError(_too_few(file, data, split, by_digest, n_matched))
    classes = _classes_of_choices(rows, wanted, data.splits[split], task, file)
    answers = {digest: _answers(by_digest[digest], n, classes, file) for digest, n in Counter(wanted).items()}
    turns: Counter[str] = Counter()
    outputs = []
    for digest in wanted:
        outputs.append(answers[digest][turns[digest]])
        turns[digest] += 1
    unused = sum(len(of) for digest, of in by_digest.items() if digest not in turns)
    predicted = np.array(outputs, np.int64) if data.label_names else _values(outputs, file)
    return MatchedPredictions(predicted, reader.form, len(rows), unused)


def _values(outputs: Sequence[float], file: Path) -> np.ndarray:
    """Predicted values (n,) in the precision that keeps them apart. Raises InputError for one that is too large."""
    if abs(largest := max(outputs, key=abs)) > LARGEST_FLOAT32:
        raise InputError(f"{file}: prediction {largest:g} is too large; a regression has numbers below 3.4e38")
    return narrowed(outputs)


def _answers(rows: Sequence[ForeignRow], n: int, classes: Mapping[int, int], file: Path) -> list[int | float]:
    """The predictions of `n` examples with one text and label. Raises InputError where it is open which is whose."""
    values = [
        classes[row.prediction.number] if isinstance(row.prediction, NumberedChoice) else row.prediction for row in rows
    ]
    if len(set(values)) == 1:
        return [values[0]] * n
    if len(values) != n:
        lines = ", ".join(str(row.line) for row in rows[:4])
        raise InputError(
            f"{file}: lines {lines}: {len(rows)} rows with other predictions for one text and label, of which there "
            f"are {n}; leave one for each (of several seeds: --seed)"
        )
    return list(values)


def _classes_of_choices(
    rows: Sequence[ForeignRow], wanted: Sequence[str], split: Split, task: Task, file: Path
) -> dict[int, int]:
    """The class of each numbered choice, from rows whose right choice is numbered; {} where no choice is.

    A choice that is never the right one counts as the class of its number, if all others are. Raises InputError where
    no row shows the class.
    """
    label_of = dict(zip(wanted, split.labels.tolist(), strict=True))
    chosen = {row.prediction.number for row in rows if isinstance(row.prediction, NumberedChoice)}
    classes: dict[int, int] = {}
    for row in rows:
        if row.target is None or row.digest not in label_of:
            continue
        label = int(label_of[row.digest])
        if classes.setdefault(row.target, label) != label:
            names = " and ".join(repr(task.label_names[of]) for of in sorted((label, classes[row.target])))
            raise InputError(f"{file}:{row.line}: choice {row.target} is the right one of examples of class {names}")
    in_order = bool(classes) and all(number == label for number, label in classes.items())
    for number in sorted(chosen - set(classes)):
        if not in_order or number >= len(task.label_names):
            raise InputError(f"{file}: no row shows which class of task {task.name} choice {number} is")
        classes[number] = number
    return classes


def _too_few(
    file: Path, data: TaskData, split: str, by_digest: Mapping[str, Sequence[ForeignRow]], n_matched: int
) -> str:
    """The message where not every example has a row, with counts, and the split that the file has."""
    of_splits = {name: digests(part) for name, part in data.splits.items()}
    wanted = of_splits[split]
    of_task = {digest for of in of_splits.values() for digest in of}
    n_rows = sum(map(len, by_digest.values()))
    strange = sum(len(rows) for digest, rows in by_digest.items() if digest not in of_task)
    counts = (
        f"{n_matched:,} of {len(wanted):,} examples of {data.task.name} {split} have a row with their text and label "
        f"({100 * n_matched / max(1, len(wanted)):.1f} %), and all must; {strange:,} of {n_rows:,} rows belong to no "
        "example of the task"
    )
    others = [
        name for name, of in of_splits.items() if name != split and of and all(digest in by_digest for digest in of)
    ]
    if others:
        return f"{file}: {counts}; it has those of {others[0]}, on which the experiment does not report"
    row = next(row for row, digest in enumerate(wanted) if digest not in by_digest)
    text = " / ".join(column[row] for column in data.splits[split].texts)
    return f"{file}: {counts}; the first example without one: {_short(text)}"
