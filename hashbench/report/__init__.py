"""Tables from the results store: what was measured, what a paper printed, and what the measurements stand on."""
