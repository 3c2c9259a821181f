"""How many examples, each asked as if it were not stored, say anything of others."""

FEWEST = 8  # below this nothing can be learned of confidence, and no label doubted
