"""Evidence as pictures and pages."""
