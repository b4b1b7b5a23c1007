"""Where workers live: on this machine so far."""
