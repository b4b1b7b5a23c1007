"""The small experiments of the plan and of sweeps."""

from tests.experiment.conftest import experiment as experiment
from tests.sweep.conftest import small_experiment as small_experiment
