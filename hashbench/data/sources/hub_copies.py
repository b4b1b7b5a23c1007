"""Copies of data sets on the hub: the commit that is read, and what a config has there.

A copy is a commit, of main or of the parquet files that the hub makes of scripts. A revision left open is resolved once
and remembered, and so is a branch. The package `datasets` refuses loading scripts. The hub converts many scripts to
parquet on another branch, as CONFIG/SPLIT/0000.parquet, or CONFIG/partial-SPLIT/... where it stopped after the first
gigabytes. So main is read where it holds data files, else that branch where it is whole.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from hashbench.common.errors import InputError, near_match
from hashbench.common.hub import OTHER_DATA, REACH_SECONDS, answering, hub_error, import_package
from hashbench.data.sources.fingerprints import cache_room, digest, read_note, write_note

CONVERTED = "refs/convert/parquet"  # the branch
PARTIAL = "partial-"  # before the name of a split
CONVERTED_FILE = re.compile(r"[^/]+/[^/]+/[^/]+\.parquet")  # CONFIG/SPLIT/0000.parquet
# The end of the errors of `datasets` about a config that is missing or unknown: a list of those that are there
CONFIGS = re.compile(r"(?:available configs|Available): \[(.*?)\]")
QUOTED = re.compile(r"'(.*?)'")
NO_LICENCE_SIGN = re.compile(r"[^\w.+ ,/-]+")  # a licence is free text of strangers
LICENCE_CHARACTERS = 60
SHOWN_CONFIGS = 12
PATHS_AT_ONCE = 500  # of files whose sizes are requested


@dataclass(frozen=True)
class HubCopy:
    """A copy of a data set on the hub: a commit of main, or of the branch of converted files."""

    revision: str  # commit
    converted: bool = False  # of the branch of converted files
    files: tuple[str, ...] = ()  # of that branch, where it was listed

    def files_of(self, config: str | None, split: str, where: str, other: str = OTHER_DATA) -> str:
        """The glob pattern of a split's converted files. `other`: the remedy where they cannot be read.

        Raises:
            InputError: there are none of this config and split, or the hub converted a part only.
        """
        folders = {file.rpartition("/")[0] for file in self.files}
        config = config_among([folder.partition("/")[0] for folder in folders], config, where)
        if f"{config}/{PARTIAL}{split}" in folders:
            raise InputError(
                f"{where}: is a script, which the package datasets no longer runs, and of which the hub converted the "
                f"first part only; {other}"
            )
        if folders and f"{config}/{split}" not in folders:
            raise InputError(f"{where}: the hub has no {config}/{split} of it; it has {', '.join(sorted(folders))}")
        return f"{config}/{split}/*.parquet"


def config_among(there: Sequence[str], config: str | None, where: str) -> str:
    """The config that is meant, of those of converted files; an unnamed one is the only one, or `default`.

    Raises InputError where there is no such config, or several and none is named.
    """
    names = sorted(set(there))
    if config is None and (len(names) == 1 or "default" in names or not names):
        return names[0] if len(names) == 1 else "default"
    if config is None or (names and config not in names):
        raise InputError(f"{where}: {_which_config(config, names)}")
    return config


def _which_config(config: str | None, there: Sequence[str]) -> str:
    """The message on a config that is not there, or that nobody named though there are several."""
    shown = ", ".join(there[:SHOWN_CONFIGS]) + (", ..." if len(there) > SHOWN_CONFIGS else "")
    if config is None:
        return f"has several configs, so name one: {shown}"
    return f"no config {config!r}{near_match(config, list(there)) or f'; it has {shown}'}"


def known_copy(repository: str, revision: str | None = None) -> HubCopy | None:
    """The copy of a data set that was resolved before, None where none was. No request is made."""
    newest = read_note(_note(repository))
    # The newest commit, once resolved, may be named by itself
    is_newest = newest is not None and revision in (None, newest["revision"])
    note = newest if is_newest else read_note(_note(repository, revision))
    if note is None or "converted" not in note:
        return None
    return HubCopy(str(note["revision"]), bool(note["converted"]), tuple(note["files"]))


def resolved_copy(repository: str, revision: str | None = None, other: str = OTHER_DATA) -> HubCopy:
    """The copy at a revision, else the one whose commit was the newest when this data set was first requested.

    `other`: the remedy where the data set cannot be had.

    Raises:
        InputError: the hub is out of reach, has no such data set or revision, or only a script of it.
    """
    remembered = known_copy(repository, revision)
    if remembered is not None:
        return remembered
    copy = _newest(repository, other) if revision is None else _at(repository, revision, other)
    note = {"repository": repository, "revision": copy.revision, "converted": copy.converted, "files": copy.files}
    write_note(_note(repository, revision), note)
    if revision not in (None, copy.revision):  # a branch; the commit by itself is the same copy
        write_note(_note(repository, copy.revision), note)
    return copy


def data_set_info(repository: str, revision: str | None = None) -> Any:
    """The hub's facts about a data set: its commit (`sha`), name (`id`) and files (`siblings`)."""
    hub = import_package("huggingface_hub")
    return hub.HfApi().dataset_info(repository, revision=revision, timeout=REACH_SECONDS)


def _newest(repository: str, other: str = OTHER_DATA) -> HubCopy:
    where = f"hub {repository}"
    with answering(partial(hub_error, where, other=other)):
        main = data_set_info(repository)
        if not _is_script(repository, _names(main)):
            return HubCopy(str(main.sha))
        try:
            converted = data_set_info(repository, CONVERTED)
        except import_package("huggingface_hub.errors").RevisionNotFoundError:
            raise InputError(
                f"{where}: is a script, which the package datasets no longer runs, and the hub has no converted "
                f"files of it; {other}"
            ) from None
    return HubCopy(str(converted.sha), converted=True, files=_converted_files(converted))


def _at(repository: str, revision: str, other: str) -> HubCopy:
    where = f"hub {repository}"
    with answering(partial(hub_error, where, other=other)):
        info = data_set_info(repository, revision)
    if _is_script(repository, _names(info)):
        raise InputError(
            f"{where}: is a script at {revision}, which the package datasets no longer runs; leave out @{revision}, "
            "and the files are read that the hub made of it"
        )
    # The branch of converted files has them and nothing else
    others = [name for name in _names(info) if not CONVERTED_FILE.fullmatch(name) and name != ".gitattributes"]
    if others or not (files := _converted_files(info)):
        return HubCopy(str(info.sha))
    return HubCopy(str(info.sha), converted=True, files=files)


def _names(info: Any) -> list[str]:
    return [file.rfilename for file in info.siblings]


def _is_script(repository: str, names: Sequence[str]) -> bool:
    """True where a file of the data set's name is among its files, which `datasets` takes for a script."""
    return f"{repository.rpartition('/')[2]}.py" in names


def _converted_files(info: Any) -> tuple[str, ...]:
    return tuple(name for name in _names(info) if name.endswith(".parquet"))


def _note(repository: str, revision: str | None = None) -> Path:
    return cache_room("hub") / f"{digest(repository, *([] if revision is None else [revision]))}.json"


@dataclass(frozen=True)
class HubListing:
    """Contents of a config of a data set at a commit, as its files and its card declare them; no data are read."""

    splits: Mapping[str, tuple[str, ...]]  # its files, in order; none where the hub converted a part only
    sizes: Mapping[str, int]  # split -> bytes of its files
    licence: str  # as the card names it, "" where it names none
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # column -> names of its numbers, in the card


def known_listing(repository: str, copy: HubCopy, config: str | None) -> HubListing | None:
    """The listing of a config that was requested before, None where none was. No request is made."""
    note = read_note(_listing_note(repository, copy, config))
    if note is None:
        return None
    splits = {split: tuple(files) for split, files in note["splits"].items()}
    return HubListing(splits, note["sizes"], note["licence"], {name: tuple(of) for name, of in note["names"].items()})


def listing(repository: str, copy: HubCopy, config: str | None, where: str, other: str = OTHER_DATA) -> HubListing:
    """The splits of a config, its licence and size; requested once and remembered.

    Raises:
        InputError: the hub is out of reach, or has no such config.
    """
    remembered = known_listing(repository, copy, config)
    if remembered is not None:
        return remembered
    names: dict[str, tuple[str, ...]] = {}
    with answering(partial(hub_error, where, other=other)):
        info = data_set_info(repository, copy.revision)
        if copy.converted:
            splits = _converted_splits(_converted_files(info), config, where)
            info = info if _licence(info) else data_set_info(repository)  # that branch has no card
        else:
            splits, names = _splits_of_card(repository, copy, config, where)
        sizes = {split: _bytes_of(repository, copy, files) for split, files in splits.items()}
    result = HubListing(splits, sizes, _licence(info), names)
    content = {"repository": repository, "revision": copy.revision, **asdict(result)}
    write_note(_listing_note(repository, copy, config), json.loads(json.dumps(content)))
    return result


def _bytes_of(repository: str, copy: HubCopy, files: Sequence[str]) -> int:
    """The bytes of these files."""
    api, n_bytes = import_package("huggingface_hub").HfApi(), 0
    for at in range(0, len(files), PATHS_AT_ONCE):
        paths = list(files[at : at + PATHS_AT_ONCE])
        entries = api.get_paths_info(repository, paths, revision=copy.revision, repo_type="dataset")
        n_bytes += sum(getattr(entry, "size", 0) for entry in entries)
    return n_bytes


def _listing_note(repository: str, copy: HubCopy, config: str | None) -> Path:
    return cache_room("hub") / f"{digest('listing', repository, copy.revision, config or '')}.json"


def _splits_of_card(
    repository: str, copy: HubCopy, config: str | None, where: str
) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
    """The files of each split, and the names of classes by column, as the package `datasets` finds them."""
    try:
        builder = import_package("datasets").load_dataset_builder(
            path=package_path(repository), revision=copy.revision, name=config
        )
    except ValueError as error:
        configs = CONFIGS.search(str(error))
        if configs is None:
            raise
        there = QUOTED.findall(configs[1])
        raise InputError(f"{where}: {_which_config(config, there)}") from error
    root = f"hf://datasets/{repository}@{copy.revision}/"
    splits = {
        str(split): tuple(str(file).removeprefix(root) for file in files)
        for split, files in builder.config.data_files.items()
    }
    features = builder.info.features or {}
    return splits, dict(_class_names(features))


def package_path(repository: str) -> str:
    """A data set of the hub as the package `datasets` takes it, which reads a folder of that name if there is one."""
    return f"hf://datasets/{repository}"


def _class_names(features: Any, above: str = "") -> Iterator[tuple[str, tuple[str, ...]]]:
    """The names of ClassLabel features, by the dotted paths of their columns."""
    if isinstance(features, Mapping):
        for name, feature in features.items():
            yield from _class_names(feature, f"{above}.{name}" if above else str(name))
    elif isinstance(features, list):
        for feature in features:
            yield from _class_names(feature, above)
    elif isinstance(names := getattr(features, "names", None), list):
        yield above, tuple(map(str, names))
    elif (inner := getattr(features, "feature", None)) is not None:
        yield from _class_names(inner, above)


def _converted_splits(files: Sequence[str], config: str | None, where: str) -> dict[str, tuple[str, ...]]:
    """The converted files of each split of a config; none of a split of which the hub converted a part only."""
    by_config: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for file in sorted(files):
        if CONVERTED_FILE.fullmatch(file):
            of, split, _ = file.split("/")
            by_config[of][split].append(file)
    splits = by_config[config_among(list(by_config), config, where)]
    return {split.removeprefix(PARTIAL): () if split.startswith(PARTIAL) else tuple(of) for split, of in splits.items()}


def _licence(info: Any) -> str:
    """The licence that a data set declares, in letters and digits; "" where it declares none."""
    declared = getattr(info.card_data, "license", None) if info.card_data is not None else None
    text = ", ".join(map(str, declared)) if isinstance(declared, list) else str(declared or "")
    return " ".join(NO_LICENCE_SIGN.sub(" ", text).split())[:LICENCE_CHARACTERS]
