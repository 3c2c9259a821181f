"""Learned dictionaries: K-SVD, D-KSVD and LC-KSVD, the baselines that learn their atoms instead of storing them."""

from kcrc.method.learned.classifiers import DKSVDClassifier, LCKSVDClassifier
from kcrc.method.learned.ksvd import KSVD

__all__ = ["KSVD", "DKSVDClassifier", "LCKSVDClassifier"]
