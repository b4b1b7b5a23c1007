"""Changes of the schema, one file each, never edited once released."""
