"""The read model of the results database: everything that was measured, and all its SQL."""
