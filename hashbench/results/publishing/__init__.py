"""Results as records of Every Eval Ever."""
