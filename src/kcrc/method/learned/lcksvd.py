"""LC-KSVD: atoms that belong to classes, learned with a linear classifier.

References: Jiang, Lin, Davis, "Learning a discriminative dictionary for sparse coding via label consistent K-SVD",
CVPR 2011, and TPAMI 2013; Kviatkovsky, Gabel, Rivlin, Shimshoni, "On the equivalence of the LC-KSVD and the D-KSVD
algorithms", TPAMI 2017.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import ParameterError
from kcrc.method.learned.base import DictionaryClassifier, check_weight, ridge_classifier
from kcrc.method.learned.omp import SparseCodes


class LCKSVDClassifier(DictionaryClassifier):
    """Label consistent K-SVD.

    variant 1   min ‖Y − X D‖² + α ‖Q − X Aᵀ‖², then W by ridge regression of H on the codes
    variant 2   min ‖Y − X D‖² + α ‖Q − X Aᵀ‖² + β ‖H − X Wᵀ‖²

    with at most ``sparsity`` atoms a sample; label = argmax W x. Q (N, K) is 1 where sample and atom are of one class,
    H (N, C) where a sample is of a class. D starts from a K-SVD of each class, A and W from ridge solutions.

    The columns of Q that belong to the K_c atoms of class c are all H_c. So the rows of A of one class start equal,
    and every K-SVD step keeps them equal: α‖Q − X Aᵀ‖² = Σ_c α K_c ‖H_c − X a_c‖², and a_c = w_c in variant 2. What
    is solved is this exact small form, with the weight α K_c (+ β) a class, instead of K more rows.

    Parameters
    ----------
    variant : 1 or 2.
    alpha : weight α of label consistency (16 in the papers on Extended Yale B with ``unit_length=False``). All three
        weights are for samples of unit length: those of the papers are for features as large as pixel values, and at
        unit length they shrink the classifier away (Extended Yale B, 570 atoms, three splits: 94.7 and 94.7 % for the
        two variants with these, 93.4 with weights ten times larger, 94.5 and 95.0 published).
    The others are those of ``DKSVDClassifier``; ``beta`` has no part in variant 1.

    Attributes
    ----------
    class_transform_ : (n_classes, n_atoms) the rows a_c
    A_ : (n_atoms, n_atoms) A, made of them: A x is near 1 at the atoms of the sample's class and near 0 elsewhere
    The others are those of ``DKSVDClassifier``.
    """

    def __init__(
        self,
        n_atoms: Any = None,
        *,
        variant: int = 2,
        sparsity: int | None = None,
        alpha: float = 0.0001,
        beta: float = 0.001,
        ridge: float = 0.1,
        unit_length: bool = True,
        n_iter: int = 50,
        init_iter: int = 20,
        random_state: Any = None,
        verbose: bool | None = None,
    ) -> None:
        self.n_atoms = n_atoms
        self.variant = variant
        self.sparsity = sparsity
        self.alpha = alpha
        self.beta = beta
        self.ridge = ridge
        self.unit_length = unit_length
        self.n_iter = n_iter
        self.init_iter = init_iter
        self.random_state = random_state
        self.verbose = verbose

    def _class_weights(self, shares: Array) -> Array:
        if self.variant not in (1, 2):
            raise ParameterError(f"variant is 1 or 2; got {self.variant!r}.")
        beta = check_weight("beta", self.beta)
        return check_weight("alpha", self.alpha) * shares + (beta if self.variant == 2 else 0.0)

    def _classifier(self, learned: Array, codes: SparseCodes, indicator: Array) -> Array:
        self.class_transform_ = learned
        return learned if self.variant == 2 else ridge_classifier(codes, indicator, float(self.ridge))

    @property
    def A_(self) -> Array:
        """Row k is a_c of the class c of atom k."""
        return np.asarray(self.class_transform_[np.searchsorted(self.classes_, self.atom_classes_)])
