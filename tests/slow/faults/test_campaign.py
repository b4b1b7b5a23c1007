"""A small campaign of faults; tests/slow/faults/campaign.py says what it does."""

import pytest

from tests.slow.faults.campaign import main
from tests.slow.faults.places import find
from tests.slow.faults.runs import specs, unharmed

SMALL = ["--runs", "30", "--workers", "2", "--longest-outage", "10"]


@pytest.mark.slow
def test_a_sweep_on_sqlite_survives_faults():
    assert main(["--db", "sqlite", *SMALL]) == 0


@pytest.mark.services
def test_a_sweep_on_postgresql_survives_faults():
    try:
        find("initdb")
    except SystemExit as error:
        pytest.skip(str(error))
    assert main(["--db", "postgresql", *SMALL]) == 0


def test_the_runs_of_a_campaign_need_only_earlier_ones():
    made = specs(50, 1.0)
    assert all(need < number for number, (_, needs) in enumerate(made) for need in needs)
    assert sum(bool(needs) for _, needs in made) > 20
    assert len(set(unharmed(50, 1.0))) == 50
