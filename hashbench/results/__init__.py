"""What was measured: the read model of a results store, without layout."""
