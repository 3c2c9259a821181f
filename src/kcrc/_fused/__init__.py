"""The compiled path: nothing is compiled elsewhere, and nothing outside asks for more than ``native`` or ``plan``."""
