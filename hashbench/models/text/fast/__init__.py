"""The compiled word scanner: `counting.ScanInterner` is its one door.

Words are read (`scan`), looked up (`table`) and put in order (`ordering`) by machine code, about ten times as fast as
by a dictionary of Python. Nothing else depends on how: `types.DictInterner` gives the same table and ids.
"""
