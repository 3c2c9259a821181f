"""Incremental learning and unlearning: what is learned again when examples come or go (``pending``), answers as if some
were not stored or had other labels (``what_if``), and the fewest without which an answer changes (``turning_points``).
"""
