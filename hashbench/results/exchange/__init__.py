"""Results that come from other databases or go to them: merging, and an example database."""
