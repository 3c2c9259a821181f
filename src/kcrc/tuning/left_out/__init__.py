"""A stored example asked as if it were not stored: what tuning, confidence and audit rest on."""
