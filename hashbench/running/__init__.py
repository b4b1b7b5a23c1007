"""From an experiment file to finished runs: the plan, training, measurements, workers."""
