"""Options of sbatch in an experiment file."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashbench.running.experiment.slurm import minutes_of, sbatch_options

UNITS = {"minutes": 1, "hours": 60, "days": 1440}


@given(st.integers(0, 99), st.integers(0, 23), st.integers(0, 59), st.integers(0, 59))
def test_each_form_of_a_time_limit_is_read_as_sbatch_reads_it(
    days: int, hours: int, minutes: int, seconds: int
) -> None:
    forms = {
        f"{minutes}": minutes,
        f"{minutes}:{seconds:02}": minutes + seconds / 60,
        f"{hours}:{minutes:02}:{seconds:02}": 60 * hours + minutes + seconds / 60,
        f"{days}-{hours}": 1440 * days + 60 * hours,
        f"{days}-{hours:02}:{minutes:02}": 1440 * days + 60 * hours + minutes,
        f"{days}-{hours:02}:{minutes:02}:{seconds:02}": 1440 * days + 60 * hours + minutes + seconds / 60,
    }
    for text, length in forms.items():
        if not length:
            with pytest.raises(ValueError, match="is no time limit"):
                minutes_of(text)
        else:
            assert length <= minutes_of(text) < length + 1, text


@pytest.mark.parametrize("text", ["", "12h", "1:2:3:4", "-5", "1-2-3", "5 ", True, "1:00:"])
def test_what_is_no_time_limit(text: str | bool) -> None:
    with pytest.raises(ValueError, match="is no time limit; write minutes, hours:minutes:seconds or days-hours"):
        minutes_of(text)


@given(st.dictionaries(st.text(max_size=12), st.text(max_size=12) | st.integers() | st.booleans(), max_size=3))
def test_what_passes_is_one_line_of_a_script_each(block: dict[str, bool | int | str]) -> None:
    try:
        options = sbatch_options(block)
    except ValueError as error:
        assert "\n" not in str(error)
        return
    for name, value in options.items():
        line = f"#SBATCH --{name}={shlex.quote(str(value))}"
        assert line.splitlines() == [line] and " " not in name and name.isascii()
