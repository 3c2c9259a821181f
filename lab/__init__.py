"""The proof: how fast, how accurate, and the data sets of the paper. Imports kcrc; no wheel holds it."""
