"""Files that were made and can be made again: checksums, made once by one process, shared by machines at any URL."""
