"""Names of ClassLabel features: the classes that numbers mean in a table which names them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from hashbench.common.errors import InputError, located
from hashbench.data.sources.files import Cells
from hashbench.data.sources.labels import Classes, apart, flat, label_of, listed, variant_key


def named_by_features(
    columns: Mapping[str, Cells],
    features: Mapping[str, tuple[str, ...]],
    declared: Classes | None,
    where: Mapping[str, str] | None = None,
) -> tuple[dict[str, Cells], tuple[str, ...]]:
    """The columns with the names of ClassLabel features in place of their numbers, and the names of the classes.

    `features`: the names that the table of a split gives to the numbers in it, () for none. `declared`: the classes
    that the task declares; then their names are returned. A table whose names are other ones keeps its numbers where
    train has the same names. Cells may be lists. `where` names the table of each split in messages.

    Raises:
        InputError: a table has a name twice, or some of the declared names alone. Its names and its numbers mean
            different declared classes. Its names differ from train's, in another order, or are numbers out of
            place.
    """
    named = dict(columns)
    names: tuple[str, ...] = declared.names if declared else ()
    for split, of_table in features.items():
        if not of_table:
            continue
        with located((where or {}).get(split, split)):
            refuse_repeated(of_table)
            if declared is None:
                names = _joined(names, of_table)
            elif not _are_declared(of_table, declared):
                _refuse_other_order(of_table, features.get("train", ()), names)
                continue
        named[split] = [_feature(cell, of_table) for cell in columns[split]]
    if declared is None and not features.get("train") and have_numbers(columns.get("train", [])):
        with located((where or {}).get("train", "train")):
            _refuse_two_orders([of_table for of_table in features.values() if of_table])
    return named, names


def _joined(names: tuple[str, ...], more: tuple[str, ...]) -> tuple[str, ...]:
    """The names of two tables. Raises InputError where one of each may be one class."""
    keys = {variant_key(name): name for name in names}
    new = tuple(name for name in more if name not in names)
    for name in new:
        if (other := keys.get(variant_key(name))) is not None:
            raise InputError(
                f"classes {apart(other, name)}: one class in two spellings, or two classes? list the classes in the "
                f"task's entry, labels: [...], or join them, labels: {{{other}: NAME, {name}: NAME, ...}}"
            )
    return (*names, *new)


def _refuse_two_orders(tables: Sequence[tuple[str, ...]]) -> None:
    """Raises InputError where tables that name their numbers do not say what the numbers of one without names mean."""
    for of_table in tables[1:]:
        if Classes(of_table, of_table).has_positions and not _same_order(of_table, tables[0]):
            raise InputError(
                f"numbers without names, which are {listed(tables[0])} in one file of the data and {listed(of_table)} "
                "in another; list the classes in order, labels: [...]"
            )


def _same_order(names: Sequence[str], others: Sequence[str]) -> bool:
    """True where the numbers that two tables have in common mean the same names."""
    n = min(len(names), len(others))
    return n > 0 and list(map(variant_key, names[:n])) == list(map(variant_key, others[:n]))


def refuse_repeated(names: Sequence[str]) -> None:
    """Raises InputError where a name is there twice."""
    if twice := [name for name, n in Counter(map(str.strip, names)).items() if n > 1]:
        raise InputError(f"the name {twice[0]!r} is there twice among the classes ({listed(names)}); name each once")


def _are_declared(of_table: Sequence[str], declared: Classes) -> bool:
    """True where all names of a table are declared classes or their spellings; then names count, not numbers.

    Raises InputError where some are, or where a mapping of the task gives their numbers other classes.
    """
    spelled = Classes(declared.names, (), declared.spellings)
    by_name = [spelled.name_of(name) for name in of_table]
    if None in by_name:
        if any(by_name):
            raise InputError(
                f"the file names its classes {listed(of_table)}, the task {listed(declared.names)}; "
                "map all names of the file, as labels: {SPELLING: NAME, ...}"
            )
        return False
    spellings = dict(declared.spellings)
    by_number = [spellings.get(str(number)) for number in range(len(of_table))]
    if None not in by_number and by_number != by_name:
        raise InputError(
            f"labels says that 0 to {len(of_table) - 1} are {listed(list(map(str, by_number)))}, but the file names "
            f"them {listed(of_table)}; list the classes in order, labels: [...], to read the file by its names, or map "
            "names alone"
        )
    return True


def _refuse_other_order(of_table: Sequence[str], of_train: Sequence[str], names: Sequence[str]) -> None:
    """Raises InputError where a table has other names than the task, and its numbers may differ from train's."""
    numbers = [label_of(name) for name in of_table]
    if not _same_order(of_table, of_train) or any(
        label.kind == "number" and label.text != str(at) for at, label in enumerate(numbers)
    ):
        raise InputError(
            f"the file names its classes {listed(of_table)}, the task {listed(names)}, so what its numbers mean is not "
            f"plain; say which name is which: labels: {{{of_table[0]}: NAME, ...}}"
        )


def values_by_features(
    columns: Mapping[str, Cells], features: Mapping[str, tuple[str, ...]], where: Mapping[str, str]
) -> dict[str, Cells]:
    """The columns of a regression, with names of ClassLabel features that are numbers in place of their numbers.

    Raises InputError where names are no numbers and have another order than train's.
    """
    named = dict(columns)
    for split, of_table in features.items():
        if of_table and all(label_of(name).kind in ("number", "code", "decimal") for name in of_table):
            named[split] = [_feature(cell, of_table) for cell in columns[split]]
        elif of_table and of_table != features.get("train", ()):
            raise InputError(
                f"{where[split]}: the file names its labels {listed(of_table)}, which are no numbers, and train does "
                "not name them so; write numbers"
            )
    return named


def have_numbers(cells: Cells) -> bool:
    """True where a cell, or one in a list, is a whole number, in whatever type."""
    return any(label_of(cell).kind == "number" for cell in flat(cells))


def named_by_order(cells: Cells, names: Sequence[str]) -> Cells:
    """The cells as names of classes in a declared order, where they mean one, else as texts. Cells may be lists."""
    classes = Classes(tuple(names), tuple(names))

    def named(cell: object) -> object:
        if isinstance(cell, list):
            return [named(inner) for inner in cell]
        label = label_of(cell)
        return classes.name_of(cell) or (label.text if label.kind == "number" else cell)

    return [named(cell) for cell in cells]


def _feature(cell: object, names: Sequence[str]) -> object:
    """The name at the place that a cell of a table writes; text that may be a name itself stays as it is."""
    if isinstance(cell, list):
        return [_feature(inner, names) for inner in cell]
    kind, text, typed = label_of(cell)
    if kind != "number" or not text.isdigit() or int(text) >= len(names):
        return cell
    return names[int(text)] if typed or Classes((), tuple(names)).has_positions else cell
