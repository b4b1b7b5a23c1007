"""Files of a folder: which hold which split of a data set, or the documents of a corpus. Nothing is opened.

Names are those of the Hugging Face hub's layouts, in any case: `train.csv`, `data/train-00000-of-00002-a1b2.parquet`,
`val.jsonl.gz`, `train/0000.parquet`. A file is read, or passed over by name; where it is not plain what is read, it is
an error. The package `datasets` reads the same names, but joins or drops what is refused here: shards of two writings,
a file beside shards, two names of one split.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hashbench.common.errors import InputError
from hashbench.data.sources.opening import COMPRESSED, ending_of, format_of

FORMATS = (".parquet", ".csv", ".tsv", ".jsonl", ".json")
TAGGED = ".conll"  # words with tags, a format of tasks alone
FORMATS_TEXT = ".parquet, .csv, .tsv, .jsonl or .json"
CORPUS_FORMATS = (*FORMATS, ".txt")
# The names of a split's files; those of the package datasets, but for EITHER
SPLITS = {
    "train": ("train", "training"),
    "validation": ("validation", "dev", "valid", "val"),
    "test": ("test", "testing"),
}
EITHER = ("eval", "evaluation")  # datasets takes these for test, most people for validation
SHARD = re.compile(r"(.+?)[-_.](\d+)[-_]of[-_](\d+)(?:[-_.].*)?")  # train-00000-of-00002, or with a hash behind it
WORDS = re.compile(r"[a-z]+")
SUFFIXES = ("set", "data")  # of a split's word in one word, as in testset
NUMBER = re.compile(r"\d+")
# Endings of files that lie beside data and are none
BESIDE = {
    ".py", ".sh", ".md", ".rst", ".log", ".yaml", ".yml", ".toml", ".cfg", ".ini", ".png", ".jpg", ".svg", ".pdf",
    ".html", ".ipynb", ".lock", ".crc", ".md5", ".sha1", ".sha256", ".sha512", ".asc", ".sig", ".dvc", ".pt", ".ckpt",
    ".bin", ".safetensors",
}  # fmt: skip
# Files of words about the data; and what the package datasets writes beside them
ABOUT = re.compile(
    r"(readme|licen[cs]e|copying)(?![a-z]).*|(notice|citation|authors|contributors|changelog|checksums)(\.\w+)?"
)
ABOUT_DATA = {"dataset_info.json", "dataset_infos.json", "dataset_dict.json", "state.json", "metadata.json"}
SHOWN = 5  # files that a message lists


@dataclass(frozen=True)
class Name:
    """The parts of a file's name, in lower case."""

    path: Path
    stem: str  # without the ending, and without the number of a shard
    format: str  # its ending, without that of a compression; "" where nothing reads it
    shard: tuple[int, int] | None  # (number, of so many)

    @property
    def words(self) -> set[str]:
        """The words that the name is made of, without "set" or "data" behind them."""
        words = set(WORDS.findall(self.path.name.lower()))
        return words | {word.removesuffix(end) for word in words for end in SUFFIXES}


@dataclass(frozen=True)
class SplitFiles:
    """The files of each split of a data set, and those that look like one and are not read."""

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
    """True for a file with the ending of a table, hidden ones left out."""
    return not _is_hidden(path.name) and named(path).format in (*FORMATS, TAGGED)


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
    for path in _candidates(folder, split_of):
        name, inside = named(path), path.parent.relative_to(folder).parts
        within = inside[-1].lower() if inside else ""  # the folder in it that holds the file
        key = (path.parent, "") if within in split_of else (path.parent, name.stem) if name.shard else (path, "")
        split = split_of.get(within if within in split_of else name.stem)
        if split is None or name.format not in (*FORMATS, TAGGED) or within not in ("", "data", *split_of):
            others.append(path)
        else:
            sources[split][key].append(path)
    files = {}
    for split in names:
        if split in sources:
            first, *more = sources[split].values()
            if more:
                pair = listed(folder, [first[0], more[0][0]], " and ")
                raise InputError(f"{folder}: {pair} are both the {split} split; keep one")
            files[split] = whole(first, folder)
    return SplitFiles(folder, files, _unread(folder, others, names, files))


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


def _candidates(folder: Path, split_of: Mapping[str, str]) -> Iterator[Path]:
    """Paths that may hold a split, hidden ones left out; a folder with the name of a split where it has no files."""
    for path in _visible(folder):
        inner = path.name.lower()
        if not path.is_dir():
            yield path
        elif inner == "data":
            yield from _candidates(path, split_of)
        elif inner in (*split_of, *EITHER):
            files = [file for file in _visible(path) if file.is_file()]
            yield from files if files and inner in split_of else [path]
        else:
            yield from (file for file in _visible(path) if file.is_file() and named(file).stem in split_of)


def _unread(
    folder: Path, others: Sequence[Path], names: Mapping[str, Sequence[str]], files: Mapping[str, object]
) -> tuple[Path, ...]:
    """Those of the other files that look like a split. Raises InputError where that split is not there."""
    seen = []
    for path in others:
        name = named(path)
        looks = [split for split, stems in names.items() if name.words & set(stems)]
        exact = {path.name.lower().split(".")[0], name.stem} & {stem for stems in names.values() for stem in stems}
        either = name.stem in EITHER and SPLITS["test"] in names.values() and (name.format or path.is_dir())
        if (path.suffix.lower() in BESIDE and not path.is_dir()) or not (looks or either):
            continue
        shown = path.relative_to(folder)
        if either:
            which = "rename it, or name the files: splits in the experiment file, --split of evaluate"
            raise InputError(f"{folder}: {shown} may be the validation or the test split; {which}")
        missing = [split for split in looks if split not in files]
        if missing and (exact or name.format in (*FORMATS, TAGGED)):
            what = f"{shown} looks like the {missing[0]} split and is not read"
            kinds = f"{missing[0]} ({FORMATS_TEXT}, or .gz or .zst behind it)"
            raise InputError(f"{folder}: {what}; make it {kinds}, name the files with splits, or move it away")
        seen.append(path)
    return tuple(seen)


def whole(files: Sequence[Path], folder: Path, *, remedy: str = "rename the others") -> tuple[Path, ...]:
    """The files of one source in their order: one file, or shards, each of them there and once.

    `folder`: that messages begin with. `remedy`: where a shard is gone; "" where a pattern chose some of the shards.

    Raises:
        InputError: a shard lacks or is there twice, shards are of two writings or formats, or files that are no shards.
    """
    if len(files) == 1 and named(files[0]).shard is None:
        return tuple(files)
    shards = [named(path).shard for path in files]
    if None in shards:
        return _counted(files, folder)
    numbered = sorted(zip([shard for shard in shards if shard], files, strict=True))
    writings = {of for (_, of), _ in numbered}
    if len(writings) > 1:
        pair = [next(path for (_, n), path in numbered if n == of) for of in sorted(writings)[:2]]
        raise InputError(f"{folder}: {listed(folder, pair, ' and ')} are shards of two writings; keep one of them")
    numbers = [number for (number, _), _ in numbered]
    first = 0 if 0 in numbers or writings != {max(numbers)} else 1
    _check_numbers(folder, [path for _, path in numbered], numbers, range(first, first + writings.pop()), remedy)
    return tuple(path for _, path in numbered)


def _counted(files: Sequence[Path], folder: Path) -> tuple[Path, ...]:
    """Files whose names differ in one number that counts up from 0 or 1, as 0000.parquet, in its order."""
    patterns = {NUMBER.sub("#", path.name.lower()) for path in files}
    columns = list(zip(*(NUMBER.findall(path.name) for path in files), strict=False))
    counting = [column for column in columns if len(set(column)) > 1]
    if len(patterns) > 1 or len(counting) != 1:
        raise InputError(f"{folder}: {listed(folder, files)}: which hold the split? name them with splits, or keep one")
    numbered = sorted(zip(map(int, counting[0]), files, strict=True))
    numbers = [number for number, _ in numbered]
    first = min(1, numbers[0])
    _check_numbers(folder, [path for _, path in numbered], numbers, range(first, max(numbers) + 1), "rename the others")
    return tuple(path for _, path in numbered)


def _check_numbers(folder: Path, files: Sequence[Path], numbers: Sequence[int], wanted: range, remedy: str) -> None:
    """Raises InputError unless the numbers are the wanted ones, each once, and the files of one format."""
    for before, path, number, last in zip(files, files[1:], numbers[1:], numbers[:-1], strict=False):
        if number == last:
            raise InputError(f"{folder}: {listed(folder, [before, path], ' and ')} are the same shard; keep one")
        if named(path).format != named(before).format:
            raise InputError(f"{folder}: {listed(folder, [before, path], ' and ')} are shards of two formats; keep one")
    strange = [path for path, number in zip(files, numbers, strict=True) if number not in wanted]
    if strange:
        raise InputError(f"{folder}: {listed(folder, strange)} is no shard of {len(wanted)}; rename it or move it away")
    missing = [f"{number:05d}" for number in wanted if number not in set(numbers)]
    if missing and remedy:
        more = f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
        lacks = f"{', '.join(missing[:SHOWN])}{more} of {len(wanted)} {'is' if len(missing) == 1 else 'are'} missing"
        raise InputError(f"{folder}: {listed(folder, files[:1])}: shard {lacks}; put it back, or {remedy}")


def find_corpus_files(folder: Path) -> CorpusFiles:
    """The files of a corpus in a folder and its subfolders, by their paths; hidden files and READMEs are no documents.

    Raises:
        InputError: shards that are not whole.
    """
    paths = sorted(_all_files(folder, set()), key=lambda path: path.relative_to(folder).parts)
    return checked_documents(paths, folder)


def checked_documents(paths: Sequence[Path], folder: Path, *, chosen: bool = False) -> CorpusFiles:
    """Those of the files that hold documents, and a note on the others.

    `chosen`: True where a pattern chose them, so that shards may lack. Raises InputError for shards that are not whole.
    """
    files = [path for path in paths if named(path).format in CORPUS_FORMATS and not is_about(path)]
    shards: dict[tuple[Path, str], list[Path]] = defaultdict(list)
    for path in files:
        if (name := named(path)).shard:
            shards[path.parent, name.stem].append(path)
    for group in shards.values():
        whole(group, folder, remedy="" if chosen else "name those that are there by a pattern, as FOLDER/*.parquet")
    beside = [path for path in paths if path not in set(files)]
    notes = [f"not read: {listed(folder, beside)}"] if beside else []
    texts = [path for path in files if named(path).format == ".txt"]
    if texts and len(texts) < len(files):
        notes.append(f"text files beside tables, each read as one document: {listed(folder, texts)}")
    return CorpusFiles(tuple(files), tuple(notes))


def is_about(path: Path) -> bool:
    """True for a file about the data, as README.txt."""
    name = path.name.lower()
    return name in ABOUT_DATA or (ABOUT.fullmatch(name) is not None and named(path).format in (".txt", ".json", ""))


def listed(folder: Path, files: Sequence[Path], between: str = ", ") -> str:
    """The names of files within a folder, some of them where they are many."""
    shown = [str(path.relative_to(folder)) if path.is_relative_to(folder) else path.name for path in files]
    return between.join(shown[:SHOWN]) + (f" and {len(shown) - SHOWN} more" if len(shown) > SHOWN else "")


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
