"""What tests of several rooms share.

The root of the checkout goes last on the path, for `tests.oracles`, `analysis` and `benchmarks`: an installed
hashbench, a wheel in continuous integration, comes before the sources beside the tests.
"""

import gc
import os
import signal
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, settings

sys.path.append(str(Path(__file__).resolve().parents[1]))

# Before torch is imported: layers of tests are so small that its threads do little but wait for each other, which took
# fifty times the CPU time of one. Processes that tests start inherit it.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Code that tests run is not remembered as the user's.
STATE = tempfile.TemporaryDirectory()
os.environ["XDG_STATE_HOME"] = STATE.name

# No example fails for its time: the first one compiles and imports, and a loaded machine is slow.
settings.register_profile("suite", settings(deadline=None, suppress_health_check=[HealthCheck.too_slow]))
settings.load_profile("suite")

# Fixtures of every room that reads results.
from tests.databases.stores import paper_store as paper_store  # noqa: E402
from tests.databases.stores import small_store as small_store  # noqa: E402
from tests.machines import ROUNDING, round_by_shape  # noqa: E402


def pytest_configure() -> None:
    """Under nohup, or behind `&`, signals are ignored, also by the processes that tests start and interrupt.

    A handler that does nothing protects pytest as well, and is not inherited.
    """
    gc.disable()  # until all is collected
    if os.environ.get(ROUNDING):  # `make test-machines`
        round_by_shape()
    for number in (signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


# Their tests train, sweep, draw, or run commands, or import whole libraries to compare with: `make check` leaves them
# out.
END_TO_END = (
    "analysis", "cli", "deployment", "hub", "results/dashboard", "results/plots", "results/rendering/page",
    "running/runs", "running/sweep", "running/training", "test_docs.py", "test_docs_browser.py", "test_extra_family.py",
    "common/test_shared_s3.py", "running/experiment/test_used.py", "scores/test_torchmetrics.py",
)  # fmt: skip
TESTS = Path(__file__).parent


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--unit", action="store_true", help="leave out tests that train, sweep or start processes (e2e)")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leaves folders out before their files are imported, since many import Lightning."""
    left_out = config.getoption("--unit") and collection_path in {TESTS / name for name in END_TO_END}
    return True if left_out else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--unit"):
        items[:] = [item for item in items if item.get_closest_marker("e2e") is None]


def pytest_collection_finish() -> None:
    """What collecting made stays until the end: looking for garbage in it, again and again, took 8 CPU seconds."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def prepared(tmp_path_factory):
    from tests.prepared import prepare_model  # imports Lightning, which most tests do not need

    return partial(prepare_model, tmp_path_factory.mktemp("prepared"))


@pytest.fixture(scope="module")
def warm_workers():
    """For files that sweep in this process: their workers are there at once."""
    from tests.warm import warm_workers

    with warm_workers():
        yield


@pytest.fixture(scope="session")
def page_links(tmp_path_factory):
    """A data folder with entities/links.parquet: 90 pages, each with links to half a topic's items or more."""
    folder = tmp_path_factory.mktemp("page_links")
    (folder / "entities").mkdir()
    random = np.random.RandomState(0)
    pages = []
    for number in range(90):
        topic = number % 6
        chosen = random.permutation(8)[: 4 + number % 4]
        pages.append({"page": f"page {number}", "links": sorted(f"topic {topic} item {i}" for i in chosen)})
    pages += [{"page": "lonely", "links": ["topic 0 item 0"]}, {"page": "empty", "links": []}]
    pq.write_table(pa.Table.from_pylist(pages), folder / "entities" / "links.parquet")
    return folder
