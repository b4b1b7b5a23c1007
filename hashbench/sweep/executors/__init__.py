"""Where workers run: on this machine so far."""
