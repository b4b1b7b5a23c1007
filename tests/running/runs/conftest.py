"""The small experiments of the plan and of sweeps."""

from tests.running.experiment.conftest import experiment as experiment
from tests.running.sweep.conftest import small_experiment as small_experiment
