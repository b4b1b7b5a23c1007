"""Names and paths of a database or an experiment, which may be a stranger's: none leads out of its folder."""

from __future__ import annotations

import os
import re
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from hashbench.common.cache import WEIGHTS
from hashbench.common.errors import InputError
from hashbench.results.publishing.records import path_part
from hashbench.results.rendering.page.board import file_stem
from hashbench.running.runs.artifacts import ArtifactFolder
from hashbench.store.result import leads_outside

RUN = "0123456789abcdef" * 4
PARTS = st.one_of(
    st.sampled_from(["..", ".", "", "~", "~root", "a", "a b", "nul", RUN, "\\", "..\\..", "C:", "\0", "%2e%2e"]),
    st.text(),
)
NAMES = PARTS | st.lists(PARTS, max_size=5).map("/".join)
ROOT = Path("/somewhere/cache")


def is_below(path: Path, folder: Path) -> bool:
    return Path(os.path.normpath(path)).is_relative_to(folder) and os.path.normpath(path) != str(folder)


@given(NAMES | PARTS.map(lambda part: f"{RUN}/{part}"))
@example(f"{RUN}/model.safetensors")
def test_the_url_of_a_file_is_a_file_of_its_run(url: str) -> None:
    folder = ArtifactFolder(ROOT)
    try:
        path = folder.stored_at(url)
    except InputError as error:
        assert "see hashbench db check" in str(error) and "\n" not in str(error)
    else:
        assert is_below(path, ROOT / WEIGHTS / RUN) and path.parent == ROOT / WEIGHTS / RUN


@given(NAMES)
def test_a_url_that_leads_outside_is_known(url: str) -> None:
    normal = Path(os.path.normpath(ROOT / url))
    assert leads_outside(url) or normal.is_relative_to(ROOT)


@given(st.lists(NAMES, max_size=6))
def test_a_page_of_a_board_is_a_file_of_its_own_in_the_folder(names: list[str]) -> None:
    taken = {"index", "board"}
    stems = [file_stem(name, taken) for name in names]
    assert len({stem.lower() for stem in (*stems, "index", "board")}) == len(names) + 2
    assert all(re.fullmatch("[A-Za-z0-9_-]{1,64}", stem) for stem in stems)


@given(NAMES)
def test_a_published_name_is_one_part_of_a_path(name: str) -> None:
    part = path_part(name)
    assert is_below(ROOT / part, ROOT) and (ROOT / part).parent == ROOT
