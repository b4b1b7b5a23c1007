"""Files of a folder: which hold which split of a data set, or the documents of a corpus. Nothing is opened.

Names are as in the Hugging Face hub's layouts, in any case: `train.csv`, `data/train-00000-of-00002-a1b2.parquet`,
`val.jsonl.gz`, `train/0000.parquet`. A file is read, or passed over by name; where it is not plain what is read, it is
an error. The package `datasets` reads the same names, but joins or drops what is refused here: shards of two writings,
a file beside shards, two names of one split.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hashbench.common.errors import InputError, near_match
from hashbench.data.sources.opening import COMPRESSED, ending_of, format_of
from hashbench.data.sources.text_tables import FORMATS, TAGGED

CORPUS_FORMATS = (*FORMATS, ".txt")
# The names of a split's files, as in the package datasets, but for eval and evaluation
SPLITS = {
    "train": ("train", "training"),
    "validation": ("validation", "dev", "valid", "val"),
    "test": ("test", "testing"),
}
# Further words of names that look like a split, and are not read as it. The package datasets takes eval for test, most
# people for validation; CoNLL-2003's testa is for validation
EITHER = ("eval", "evaluation", "holdout", "heldout")
LOOKS = {
    "train": {*SPLITS["train"], "trn"},
    "validation": {*SPLITS["validation"], *EITHER, "development", "devel", "develop", "validate", "testa"},
    "test": {*SPLITS["test"], *EITHER, "tst", "testb"},
}
SHARD = re.compile(r"(.+?)[-_.](\d+)[-_]of[-_](\d+)(?:[-_.].*)?")  # train-00000-of-00002, or with a hash behind it
WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
SUFFIXES = ("set", "data", "split")  # of a split's word in one word, as in testset
DEPTH = 4  # folders within each other in which files that look like a split are searched
NUMBER = re.compile(r"\d+")
# Endings of files that lie beside data and are none
BESIDE = {
    ".py", ".sh", ".md", ".rst", ".log", ".yaml", ".yml", ".toml", ".cfg", ".ini", ".png", ".jpg", ".svg", ".pdf",
    ".html", ".ipynb", ".lock", ".crc", ".md5", ".sha1", ".sha256", ".sha512", ".asc", ".sig", ".dvc", ".pt", ".ckpt",
    ".bin", ".safetensors",
}  # fmt: skip
# Endings of data that nothing here reads
UNREADABLE = {
    ".arrow", ".feather", ".orc", ".avro", ".xlsx", ".xls", ".ods", ".zip", ".bz2", ".xz", ".7z", ".tar", ".tgz",
    ".pkl", ".pickle", ".tfrecord", ".db", ".sqlite",
}  # fmt: skip
# Files of words about the data; and what lies beside them: names of labels, files of the package datasets
ABOUT = re.compile(
    r"(readme|licen[cs]e|copying)(?![a-z]).*|(notice|citation|authors|contributors|changelog|checksums)(\.\w+)?"
)
ABOUT_DATA = {
    "dataset_info.json",
    "dataset_infos.json",
    "dataset_dict.json",
    "state.json",
    "metadata.json",
    "label_names.json",
}
SHOWN_FILES = 5  # files that a message lists


@dataclass(frozen=True)
class Name:
    """The parts of a file's name, in lower case."""

    path: Path
    stem: str  # without the ending, and without the number of a shard
    format: str  # its ending, without ".gz" or ".zst"; "" where nothing reads it
    shard: tuple[int, int] | None  # (number, of so many)

    @property
    def words(self) -> set[str]:
        """The words that the name is made of, also without "set" or "data" behind them: of TestSet.csv test and set."""
        words = {word.lower() for word in WORDS.findall(self.path.name)}
        return words | {word.removesuffix(end) for word in words for end in SUFFIXES}


@dataclass(frozen=True)
class SplitFiles:
    """The files of each split of a data set, and files that look like a split and are not read."""

    folder: Path
    files: dict[str, tuple[Path, ...]]
    unread: tuple[Path, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """A note that names the files that look like a split and are not read; none where there are none."""
        return (f"not read: {listed(self.folder, self.unread)}",) if self.unread else ()


@dataclass(frozen=True)
class CorpusFiles:
    """The files of a corpus in their order, and those passed over."""

    files: tuple[Path, ...]
    notes: tuple[str, ...] = ()


def named(path: Path) -> Name:
    """The parts of a file's name.

    >>> name = named(Path("Train-00001-of-00002-a1b2.JSONL.gz"))
    >>> name.stem, name.format, name.shard
    ('train', '.jsonl', (1, 2))
    """
    kind, ending = format_of(path), ending_of(path)
    packed_parquet = kind == ".parquet" and path.suffix.lower() in COMPRESSED  # parquet compresses its own columns
    readable = kind in (*CORPUS_FORMATS, TAGGED) and not packed_parquet
    stem = path.name.removesuffix(ending).lower()
    shard = SHARD.fullmatch(stem)
    numbers = (int(shard[2]), int(shard[3])) if shard else None
    return Name(path, shard[1] if shard else stem, kind if readable else "", numbers)


def is_table(path: Path) -> bool:
    """True for a file with the ending of a table; hidden ones and those about the data are none."""
    return not _is_hidden(path.name) and named(path).format in (*FORMATS, TAGGED) and not is_about(path)


def only_table(folder: Path) -> bool:
    """True where a folder and those in it hold one table, and nothing else that may be data."""
    files = [path for path in _candidates(folder) if not _is_beside(path)]
    data = [path for path in files if is_table(path) or path.suffix.lower() in UNREADABLE or path.parent != folder]
    return len(data) == 1 and is_table(data[0]) and data[0].parent == folder


def find_splits(folder: Path, names: Mapping[str, Sequence[str]] = SPLITS) -> SplitFiles:
    """The files of each split in a folder: in it, in its `data/`, or in a folder with the split's name.

    `names`: split -> stems of its files, in lower case.

    Raises:
        InputError: two sources of one split, shards that are not whole, or a file that looks like a split that is not
            there.
    """
    split_of = {stem: split for split, stems in names.items() for stem in stems}
    sources: dict[str, dict[tuple[Path, str], list[Path]]] = defaultdict(lambda: defaultdict(list))
    others: list[Path] = []
    for path in _candidates(folder):
        name, inside = named(path), [part.lower() for part in path.parent.relative_to(folder).parts]
        while inside[:1] == ["data"]:
            inside.pop(0)
        within = "/".join(inside)  # the folder that holds the file
        split = split_of.get(within or name.stem)
        if split is None or not is_table(path) or not path.is_file():
            others.append(path)
            continue
        key = (path.parent, "") if within else (path.parent, name.stem) if name.shard else (path, "")
        sources[split][key].append(path)
    files = {}
    for split in names:
        if split in sources:
            first, *more = sources[split].values()
            if more:
                pair = listed(folder, [first[0], more[0][0]], " and ")
                raise InputError(f"{folder}: {pair} are both the {split} split; keep one")
            files[split] = whole(first, folder)
    # In a folder that may hold a test split other files may be one, too
    own = SPLITS["test"] in names.values()
    return SplitFiles(folder, files, _unread(folder, others, names, files) if own else ())


def named_splits(folder: Path, files: Mapping[str, str]) -> SplitFiles:
    """The files of the splits that are named: split -> name of its file, or of its shards without number and ending.

    Raises:
        InputError: no such file, several of one name, or shards that are not whole.
    """
    by_split = {}
    for split, text in files.items():
        path = folder / text
        if path.is_file():
            by_split[split] = whole((path,), path.parent)
            continue
        named_so = find_splits(path.parent, {split: (path.name.lower(),)}).files if path.parent.is_dir() else {}
        if split not in named_so:
            raise InputError(f"{folder}: splits: no file {text!r} for {split}; name one, as {{{split}: {split}.csv}}")
        by_split[split] = named_so[split]
    return SplitFiles(folder, by_split)


def chosen_splits(
    there: Sequence[str], names: Mapping[str, Sequence[str]], by_user: Mapping[str, str], where: str
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Split -> its name among the splits `there` of a data set that says which it has; and a note on the others.

    `names`: split -> names that mean it, in lower case; the first split is needed, and of one alone a single one of any
    name is it. `by_user`: the splits that a user names, and no others.

    Raises:
        InputError: the first split is not there, two names of one split, or one that looks like a split that is not
            there.
    """
    shown = ", ".join(there)
    for name in by_user.values():
        if name not in there:
            raise InputError(
                f"{where}: splits: no split {name!r}{near_match(name, list(there)) or f'; it has {shown}'}"
            )
    by_split: dict[str, list[str]] = {split: [name] for split, name in by_user.items()}
    split_of = {} if by_user else {stem: split for split, stems in names.items() for stem in stems}
    for name in there:
        if (split := split_of.get(name.lower())) is not None:
            by_split.setdefault(split, []).append(name)
    needed = next(iter(names))
    if not by_split and len(names) == len(there) == 1:
        by_split = {needed: list(there)}
    for split, (first, *more) in by_split.items():
        if more:
            remedy = f"say which to read: splits: {{{split}: {first}, ...}}"
            raise InputError(f"{where}: {first} and {more[0]} are both the {split} split; {remedy}")
    if needed not in by_split:
        raise InputError(f"{where}: no {needed} split; it has {shown}; name it: splits: {{{needed}: {there[0]}, ...}}")
    chosen = {split: by_split[split][0] for split in names if split in by_split}
    others = [name for name in there if name not in chosen.values()]
    for name in [] if by_user else others:
        words = named(Path(name)).words
        if missing := [split for split in names if split not in chosen and words & LOOKS[split]]:
            remedy = ", ".join(f"{split}: {of}" for split, of in (*chosen.items(), (missing[0], name)))
            raise InputError(
                f"{where}: {name} looks like the {' or the '.join(missing)} split and is not read; say which to read: "
                f"splits: {{{remedy}}}"
            )
    return chosen, (f"not read: {', '.join(others)}",) if others else ()


def _candidates(folder: Path, depth: int = DEPTH) -> Iterator[Path]:
    """Visible files in a folder and those in it, to a small depth; a folder where it has none."""
    for path in _visible(folder):
        inner = list(_candidates(path, depth - 1)) if depth > 1 and path.is_dir() else []
        yield from inner or [path]


def _is_beside(path: Path) -> bool:
    """True for what is no data by its name: programs, READMEs, Spark's _SUCCESS."""
    if path.is_dir():
        return False
    marks = path.name.startswith("_") and not named(path).format
    return marks or path.suffix.lower() in BESIDE or is_about(path)


def _unread(folder: Path, others: Sequence[Path], names: Collection[str], files: Collection[str]) -> tuple[Path, ...]:
    """The other tables, and files that look like a split by the words of their names and folders.

    Raises InputError for data that look like a split that is not there, or lie deeper in the folder of one.
    """
    stems = {stem for of_split in SPLITS.values() for stem in of_split}
    unread = []
    for path in others:
        if _is_beside(path):
            continue
        shown = path.relative_to(folder)
        parts = [named(Path(part)) for part in shown.parts]
        words = {word for part in parts for word in part.words}
        looks = [split for split in names if words & LOOKS.get(split, set())]
        missing = [split for split in looks if split not in files]
        in_split = len(parts) > 1 and parts[0].stem in stems and is_table(path)
        data = is_table(path) or path.suffix.lower() in UNREADABLE or (len(parts) == 1 and path.is_dir())
        named_so = any({part.stem, part.path.name.lower().split(".")[0]} & stems for part in parts)
        if in_split or (missing and (data or named_so)):
            split = " or the ".join(missing or looks[:1])
            remedy = "name the files with splits, or move it away"
            raise InputError(f"{folder}: {shown} looks like the {split} split and is not read; {remedy}")
        if looks or (is_table(path) and path.parent in (folder, folder / "data")):
            unread.append(path)
    return tuple(unread)


def whole(files: Sequence[Path], folder: Path, *, remedy: str = "rename the others") -> tuple[Path, ...]:
    """The files of one source in their order: one file, or shards, each there exactly once.

    `folder`: that messages begin with. `remedy`: where a shard is gone; "" where a pattern chose some of the shards.

    Raises:
        InputError: a shard lacks, or the files are not the shards of one table.
    """
    names = [named(path) for path in files]
    if len(files) == 1 and names[0].shard is None:
        return tuple(files)
    writings = {(name.stem, name.shard[1]) for name in names if name.shard}
    if any(name.shard is None for name in names):  # 0000.parquet, 0001.parquet ...
        numbers = _counted(files)
        wanted = range(min([1, *numbers]), max(numbers, default=0) + 1)
    else:
        numbers, n = [name.shard[0] for name in names if name.shard], max(n for _, n in writings)
        first = int(0 not in numbers and n in numbers)
        wanted = range(first, first + n)
    missing = [f"{number:05d}" for number in wanted if number not in numbers]
    is_whole = len(set(numbers)) == len(files) and set(numbers) <= set(wanted) and len({n.format for n in names}) == 1
    if not is_whole or len(writings) > 1 or (not writings and len(missing) > len(files)):  # the last: years, perhaps
        raise InputError(
            f"{folder}: {listed(folder, files)} are not the shards of one table, each once; keep those of one, or name "
            "the files with splits"
        )
    if missing and remedy:
        more = f" and {len(missing) - SHOWN_FILES} more" if len(missing) > SHOWN_FILES else ""
        lacks = (
            f"{', '.join(missing[:SHOWN_FILES])}{more} of {len(wanted)} {'is' if len(missing) == 1 else 'are'} missing"
        )
        raise InputError(f"{folder}: {listed(folder, files[:1])}: shard {lacks}; put it back, or {remedy}")
    return tuple(path for _, path in sorted(zip(numbers, files, strict=True)))


def _counted(files: Sequence[Path]) -> list[int]:
    """The one number in which the names of files differ, as 0000.parquet; [] where they differ otherwise."""
    patterns = {NUMBER.sub("#", path.name.lower()) for path in files}
    columns = list(zip(*(NUMBER.findall(path.name) for path in files), strict=False))
    counting = [column for column in columns if len(set(column)) > 1]
    return list(map(int, counting[0])) if len(patterns) == len(counting) == 1 else []


def find_corpus_files(folder: Path) -> CorpusFiles:
    """The files of a corpus in a folder and its subfolders, by their paths; hidden files and READMEs are no documents.

    Raises:
        InputError: shards that are not whole.
    """
    paths = sorted(_all_files(folder, set()), key=lambda path: path.relative_to(folder).parts)
    return checked_documents(paths, folder)


def checked_documents(paths: Sequence[Path], folder: Path, *, chosen: bool = False) -> CorpusFiles:
    """The files that hold documents, and a note on the others.

    `chosen`: True where a pattern chose them, so that shards may lack. Raises InputError for shards that are not whole,
    and for a file that is there packed and unpacked.
    """
    files = [path for path in paths if named(path).format in CORPUS_FORMATS and not is_about(path)]
    shards: dict[tuple[Path, str], list[Path]] = defaultdict(list)
    for path in files:
        if (name := named(path)).shard:
            shards[path.parent, name.stem].append(path)
    for group in shards.values():
        whole(group, folder, remedy="" if chosen else "name those that are there by a pattern, as FOLDER/*.parquet")
    _check_once(files, folder)
    beside = [path for path in paths if path not in set(files)]
    notes = [f"not read: {listed(folder, beside)}"] if beside else []
    texts = [path for path in files if named(path).format == ".txt"]
    if texts and len(texts) < len(files):
        notes.append(f"text files beside tables, each read as one document: {listed(folder, texts)}")
    return CorpusFiles(tuple(files), tuple(notes))


def _check_once(files: Sequence[Path], folder: Path) -> None:
    """Raises InputError where two files differ in nothing but their compression or the writing of their format."""
    seen: dict[tuple[Path, str, str], Path] = {}
    for path in files:
        other = seen.setdefault((path.parent, path.name.removesuffix(ending_of(path)), named(path).format), path)
        if other != path:
            raise InputError(f"{folder}: {listed(folder, [other, path], ' and ')} are the same documents; keep one")


def is_about(path: Path) -> bool:
    """True for a file about the data, as README.txt."""
    name = path.name.lower()
    return name in ABOUT_DATA or (ABOUT.fullmatch(name) is not None and named(path).format in (".txt", ".json", ""))


def listed(folder: Path, files: Sequence[Path], between: str = ", ") -> str:
    """The names of files within a folder, only the first ones if they are many."""
    shown = [str(path.relative_to(folder)) if path.is_relative_to(folder) else path.name for path in files]
    return between.join(shown[:SHOWN_FILES]) + (
        f" and {len(shown) - SHOWN_FILES} more" if len(shown) > SHOWN_FILES else ""
    )


def _visible(folder: Path) -> list[Path]:
    """Paths in a folder, by name, without hidden files and folders."""
    return sorted(path for path in folder.iterdir() if not _is_hidden(path.name))


def _is_hidden(name: str) -> bool:
    return name.startswith((".", "~$", "__"))


def _all_files(folder: Path, seen: set[str]) -> Iterator[Path]:
    """All visible files in a folder and its subfolders; a folder that links lead to twice is entered once."""
    if (real := os.path.realpath(folder)) in seen:
        return
    seen.add(real)
    for path in _visible(folder):
        if path.is_dir():
            yield from _all_files(path, seen)
        else:
            yield path
