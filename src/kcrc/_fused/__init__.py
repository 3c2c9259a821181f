"""The compiled path. Nothing is compiled anywhere else, and nothing outside asks for more than ``native`` or ``plan``."""
