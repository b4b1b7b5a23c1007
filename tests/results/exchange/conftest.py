"""Stores of either kind, and builders of runs and results, as the tests of the store have them."""

from tests.store.conftest import lab as lab
from tests.store.conftest import new_store as new_store
from tests.store.conftest import place as place
from tests.store.conftest import server as server
from tests.store.conftest import store as store
