"""Dumps of a MediaWiki wiki, read as a stream, and the page-link set that is made from one."""
