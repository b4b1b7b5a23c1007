"""running/efficiency/sizes.py: the published counts beside ours; `hashbench params` and `models` test the rows."""

from hashbench.running.efficiency.sizes import _published


def test_published_counts_of_superbloom_are_binary() -> None:
    assert _published("superbloom-baseline", "superbloom", "total_params") == 248 * 2**20
    assert _published("superbloom-sampled-softmax", "superbloom", "total_params") == round(2.6 * 2**30)
    assert _published("proformer", "proformer", "total_params") == 14_400_000
    assert _published("eelbert-base", "eelbert", "total_params") is None
