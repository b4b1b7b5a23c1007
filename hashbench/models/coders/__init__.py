"""Types to codes: deterministic, parameter-free hashes (numpy and numba, no torch)."""
