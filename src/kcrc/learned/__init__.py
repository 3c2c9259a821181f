"""Learned dictionaries: K-SVD, D-KSVD and LC-KSVD, the baselines that learn their atoms instead of storing them."""

from kcrc.learned.dksvd import DKSVDClassifier
from kcrc.learned.ksvd import KSVD
from kcrc.learned.lcksvd import LCKSVDClassifier

__all__ = ["KSVD", "DKSVDClassifier", "LCKSVDClassifier"]
