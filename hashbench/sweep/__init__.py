"""The sweep: plans become runs, workers carry them out, the store keeps what they find."""
