"""Learned dictionaries: K-SVD, D-KSVD and LC-KSVD, the baselines that learn their atoms instead of storing them."""

from kcrc.method.learned.dksvd import DKSVDClassifier
from kcrc.method.learned.ksvd import KSVD
from kcrc.method.learned.lcksvd import LCKSVDClassifier

__all__ = ["KSVD", "DKSVDClassifier", "LCKSVDClassifier"]
