"""How sure an answer is, which classes it may be, whether it is none of them, and which examples look wrong."""
