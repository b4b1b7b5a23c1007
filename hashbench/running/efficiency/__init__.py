"""What a model costs: parameters, time, memory."""
