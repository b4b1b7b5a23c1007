"""What was measured: the read model of the results database and all its SQL."""
