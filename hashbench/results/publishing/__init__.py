"""Results in the forms that others read: Every Eval Ever, the hub, parquet."""
