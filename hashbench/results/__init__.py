"""What was measured: the read model and its SQL. Called as `hashbench.results(db)`, the scores as a pandas table."""

from hashbench.rooms import make_callable

make_callable(__name__, "hashbench.results.scores")
