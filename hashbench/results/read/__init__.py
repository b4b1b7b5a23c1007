"""Reading the results database: everything that was measured, and all SQL of reports."""
