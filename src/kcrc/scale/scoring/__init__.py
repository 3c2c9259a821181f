"""Answers for millions of images or vectors, into one file: in pieces that are answered anywhere and written once."""
