"""Figures from the results store alone, one file each: `hashbench plot`."""
