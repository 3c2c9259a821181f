"""D-KSVD: atoms and a linear classifier learned together.

Reference: Zhang, Li, "Discriminative K-SVD for dictionary learning in face recognition", CVPR 2010.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.method.learned.base import DictionaryClassifier, check_weight


class DKSVDClassifier(DictionaryClassifier):
    """Discriminative K-SVD.

    min ‖Y − X D‖² + β ‖H − X Wᵀ‖²  with at most ``sparsity`` atoms a sample; label = argmax W x.

    D starts from a K-SVD of each class, W from the ridge solution over the first codes.

    Parameters
    ----------
    n_atoms : total number of atoms, or one number a class; None: half of each class's samples, at most 30 and
        the number of features. A class never has more atoms than samples.
    sparsity : atoms a sample may use; None: chosen among a quarter, a half, once and twice a tenth of the features
        (1 to 30), by a quarter of each class's samples held out while 5 iterations learn from the rest. (To leave one
        sample out at a time, as KCRCClassifier does, a dictionary would have to be learned for each.)
    beta : weight β of the classification error (a label is 0 or 1) beside that of the samples, in their scale.
    ridge : penalty on W in its ridge start.
    unit_length : scale samples to length 1 first, so that β means the same for all data. Large weights (the papers
        have β = 4 on Extended Yale B) go with long samples, left as they are (False): at length 1 they drown them.
    n_iter : iterations of the joint learning.
    init_iter : iterations of each class's K-SVD.
    random_state : int, RandomState, Generator or None (the seed 0): the samples that start as atoms.
    verbose : True shows progress, False never, None on a terminal when fit takes more than 2 seconds.

    Attributes
    ----------
    components_ : (n_atoms, n_features) unit atoms
    coef_ : (n_classes, n_atoms) W
    sparsity_, sparsity_scores_ : the sparsity used, and the held-out accuracy of those tried (empty if given)
    objective_ : (n_iter, 2) the objective after the coding stage and after the atom update; read in order it falls
    atom_classes_, atom_rows_, atom_row_cosines_ : (n_atoms,) the class an atom started from, the training row it is
        most like, and the cosine between them (without sign)
    """

    def __init__(
        self,
        n_atoms: Any = None,
        *,
        sparsity: int | None = None,
        beta: float = 0.01,
        ridge: float = 1.0,
        unit_length: bool = True,
        n_iter: int = 50,
        init_iter: int = 20,
        random_state: Any = None,
        verbose: bool | None = None,
    ) -> None:
        self.n_atoms = n_atoms
        self.sparsity = sparsity
        self.beta = beta
        self.ridge = ridge
        self.unit_length = unit_length
        self.n_iter = n_iter
        self.init_iter = init_iter
        self.random_state = random_state
        self.verbose = verbose

    def _class_weights(self, shares: Array) -> Array:
        return np.full(len(shares), check_weight("beta", self.beta))
