"""Tasks by name, one file a collection: each ends in `TASKS`, and in `GROUPS` where a name stands for several."""
