"""Tasks by name, one file a collection: each ends in `TASKS`, and in `GROUPS` where one name means several."""
