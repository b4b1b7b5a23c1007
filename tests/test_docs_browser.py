"""The documentation in a real browser: nothing is fetched from elsewhere, nothing runs over the edge of a phone."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser import Browser, find_chromium

ROOT = Path(__file__).resolve().parents[1]
CHROMIUM = find_chromium()
PAGES = sorted(page.stem for page in (ROOT / "docs").glob("*.md"))
pytestmark = [
    pytest.mark.services,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine (apt-get install chromium)"),
]
OVER_THE_EDGE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
BROKEN_PICTURES = "[...document.images].filter(image => !image.naturalWidth).map(image => image.src)"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages, built as `make docs` does."""
    folder = tmp_path_factory.mktemp("docs")
    shutil.copytree(ROOT / "docs", folder / "docs")
    shutil.copy(ROOT / "zensical.toml", folder)
    program = Path(sys.executable).with_name("zensical")
    subprocess.run([program, "build", "--strict"], cwd=folder, check=True, capture_output=True)
    return folder / "site"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    assert CHROMIUM is not None
    with Browser(CHROMIUM) as opened:
        yield opened


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("page", PAGES)
def test_a_page_fits_and_fetches_nothing(page: str, width: int, site: Path, browser: Browser) -> None:
    browser.size(width, 900)
    browser.open(site / f"{page}.html")
    assert browser.run(OVER_THE_EDGE) <= 0
    assert browser.run(BROKEN_PICTURES) == []
    assert [address for address in browser.requests() if not address.startswith(("file:", "data:", "blob:"))] == []
