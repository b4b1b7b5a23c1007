"""Which copy of a data set on the hub is read: a commit, of main or of the parquet files that the hub makes of scripts.

The package `datasets` refuses loading scripts. The hub converts many of them to parquet on another branch, as
CONFIG/SPLIT/0000.parquet, or CONFIG/partial-SPLIT/... where it stopped after the first gigabytes. So main is read where
it holds data files, else that branch where it is whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from hashbench.common.errors import InputError
from hashbench.common.hub import OTHER_DATA, REACH_SECONDS, answering, hub_error, import_package
from hashbench.data.sources.fingerprints import cache_room, digest, read_note, write_note

CONVERTED = "refs/convert/parquet"  # the branch
PARTIAL = "partial-"  # before the name of a split


@dataclass(frozen=True)
class HubCopy:
    """A copy of a data set on the hub: a commit of main, or of the branch of converted files."""

    revision: str  # commit
    converted: bool = False  # of the branch of converted files
    files: tuple[str, ...] = ()  # of that branch, where it was listed

    def files_of(self, config: str | None, split: str, where: str) -> str:
        """The glob pattern of a split's converted files.

        Raises:
            InputError: there are none of this config and split, or the hub converted a part only.
        """
        folders = {file.rpartition("/")[0] for file in self.files}
        if config is None:
            configs = {folder.partition("/")[0] for folder in folders}
            config = configs.pop() if len(configs) == 1 else "default"
        if f"{config}/{PARTIAL}{split}" in folders:
            raise InputError(
                f"{where}: is a script, which the package datasets no longer runs, and of which the hub converted the "
                f"first part only; {OTHER_DATA}"
            )
        if folders and f"{config}/{split}" not in folders:
            raise InputError(f"{where}: the hub has no {config}/{split} of it; it has {', '.join(sorted(folders))}")
        return f"{config}/{split}/*.parquet"


def known_copy(repository: str) -> HubCopy | None:
    """The copy of a data set that was resolved before, None where none was. No request is made."""
    remembered = read_note(_note(repository))
    if remembered is None or "converted" not in remembered:
        return None
    return HubCopy(str(remembered["revision"]), bool(remembered["converted"]), tuple(remembered["files"]))


def resolved_copy(repository: str) -> HubCopy:
    """The copy whose commit was the newest when this data set was first requested.

    Raises:
        InputError: the hub is out of reach, has no such data set, or only a script of it.
    """
    remembered = known_copy(repository)
    if remembered is not None:
        return remembered
    copy = _newest(repository)
    note = {"repository": repository, "revision": copy.revision, "converted": copy.converted, "files": copy.files}
    write_note(_note(repository), note)
    return copy


def data_set_info(repository: str, revision: str | None = None) -> Any:
    """The hub's facts about a data set: its commit (`sha`), name (`id`) and files (`siblings`)."""
    hub = import_package("huggingface_hub")
    return hub.HfApi().dataset_info(repository, revision=revision, timeout=REACH_SECONDS)


def _newest(repository: str) -> HubCopy:
    where = f"hub {repository}"
    with answering(partial(hub_error, where)):
        main = data_set_info(repository)
        # A file of this name is what `datasets` takes for a script
        if f"{repository.rpartition('/')[2]}.py" not in [file.rfilename for file in main.siblings]:
            return HubCopy(str(main.sha))
        try:
            converted = data_set_info(repository, CONVERTED)
        except import_package("huggingface_hub.errors").RevisionNotFoundError:
            raise InputError(
                f"{where}: is a script, which the package datasets no longer runs, and the hub has no converted "
                f"files of it; {OTHER_DATA}"
            ) from None
    files = tuple(file.rfilename for file in converted.siblings if file.rfilename.endswith(".parquet"))
    return HubCopy(str(converted.sha), converted=True, files=files)


def _note(repository: str) -> Path:
    return cache_room("hub") / f"{digest(repository)}.json"
