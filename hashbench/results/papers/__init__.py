"""What the papers printed: their tables and claims as data, and where this suite deviates from them."""
