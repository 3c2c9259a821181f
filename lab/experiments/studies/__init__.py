"""Accuracy beyond the paper: what we say of the library elsewhere, measured. One file a study.

``python -m lab.experiments.studies.NAME --help`` says what a study measures and takes; data come from ``--data``,
``$KCRC_DATA`` or the user's cache.
"""
