"""What D-KSVD and LC-KSVD share: class dictionaries to start from, labels stacked under the samples, a linear rule.

Both learn atoms D (rows), codes X and a classifier W together, by K-SVD on samples with their labels appended:

    min ‖Y − X D‖² + Σ_c w_c ‖H_c − X W_c‖²    with at most ``sparsity`` atoms a sample

H (N, C) is the class indicator and w_c what an error in class c weighs. The methods differ in w_c alone: see
``LCKSVDClassifier`` for why its label-consistency term is of this form.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from kcrc._base import validation
from kcrc._base.arrays import Array, unit_rows
from kcrc._base.progress import count_bar
from kcrc._base.validation import seed_of
from kcrc.errors import ParameterError
from kcrc.method.learned.atom_evidence import AtomEvidence, atom_evidence
from kcrc.method.learned.ksvd import SparseCodes, check_whole, draw_atoms, encode, learn, tolerance

MOST_BY_DEFAULT = 30
"""The most atoms a class gets where ``n_atoms`` is not given, and a sample where ``sparsity`` is not."""
CHOOSING_ITER = 5
"""Iterations of learning, and of each class's start, for each sparsity that is tried."""
CHOOSING_ROWS = 2000
"""The most samples a choice of sparsity looks at."""


def check_weight(name: str, value: Any) -> float:
    """``value`` as a float, or an error that names the parameter."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.number)) or not 0 <= value < np.inf:
        raise ParameterError(f"{name} is a number, 0 or more; got {value!r}.")
    return float(value)


def share_atoms(n_atoms: Any, counts: Array, n_features: int) -> Array:
    """How many atoms each class gets: never more than its ``counts`` (C,) samples.

    An int is the total, dealt out evenly (what one class cannot use goes to the others); a sequence names each
    class's number; None gives half of the samples, at most ``MOST_BY_DEFAULT`` and the number of features.
    """
    if n_atoms is None:
        return np.asarray(np.minimum(min(MOST_BY_DEFAULT, n_features), (counts + 1) // 2))
    if np.ndim(n_atoms) == 0:
        total = check_whole("n_atoms", n_atoms, least=1)
        if total < len(counts):
            raise ParameterError(
                f"n_atoms={total} does not give each of the {len(counts)} classes an atom. Use {len(counts)} or more."
            )
        shares = np.zeros_like(counts)
        for _ in range(min(total, int(counts.sum()))):
            hungry = np.flatnonzero(shares < counts)
            shares[hungry[shares[hungry].argmin()]] += 1
        return shares
    if len(n_atoms) != len(counts):
        raise ParameterError(f"n_atoms has {len(n_atoms)} entries for {len(counts)} classes. Give one a class.")
    return np.minimum([check_whole("n_atoms", n, least=1) for n in n_atoms], counts)


def ridge_classifier(codes: SparseCodes, indicator: Array, ridge: float) -> Array:
    """W (C, K) = argmin ‖H − X Wᵀ‖² + ridge ‖W‖² for codes X (N, K) and H (N, C)."""
    X = codes.matrix()
    gram = (X.T @ X).toarray()
    gram[np.diag_indices_from(gram)] += max(ridge, tolerance(gram.dtype) * max(1.0, float(gram.max(initial=0))))
    return np.asarray(linalg.solve(gram, X.T @ indicator, assume_a="pos").T)


class DictionaryClassifier(ClassifierMixin, BaseEstimator):
    """Sparse codes over learned atoms, then the largest entry of W x. The length of a query has no say in its label."""

    n_atoms: Any
    sparsity: Any
    ridge: Any
    unit_length: Any
    n_iter: Any
    init_iter: Any
    random_state: Any
    verbose: Any

    @abstractmethod
    def _class_weights(self, shares: Array) -> Array:
        """w_c (C,): what the labels of each class weigh beside the samples, given its number of atoms."""

    def _classifier(self, learned: Array, codes: SparseCodes, indicator: Array) -> Array:
        """The rule W (C, K) to keep; ``learned`` is the one learned with the atoms."""
        return learned

    def fit(self, X: Any, y: Any) -> DictionaryClassifier:
        """Learn atoms and classifier from X (n_samples, n_features) and labels y (n_samples,)."""
        with np.errstate(invalid="ignore"):  # scikit-learn sums X, and huge values of both signs make no sum
            X, y = validate_data(self, X, y, dtype=[np.float64, np.float32], order="C")
        check_classification_targets(y)
        validation.check(X, X.dtype, or_else=", or give float64" if X.dtype == np.float32 else "")
        self.classes_, coded = np.unique(y, return_inverse=True)
        n_iter = check_whole("n_iter", self.n_iter, least=1)
        init_iter = check_whole("init_iter", self.init_iter, least=1)
        given = None if self.sparsity is None else check_whole("sparsity", self.sparsity, least=1)
        check_weight("ridge", self.ridge)
        shares = share_atoms(self.n_atoms, np.bincount(coded), X.shape[1])
        self._class_weights(shares)
        Y = unit_rows(X) if self.unit_length else X
        rng = np.random.RandomState(seed_of(self.random_state))
        self.sparsity_scores_: dict[int, float] = {}
        if given is None:
            given = self._chosen_sparsity(
                Y, coded, shares, rng, min(CHOOSING_ITER, n_iter), min(CHOOSING_ITER, init_iter)
            )
        self.sparsity_ = min(given, X.shape[1], int(shares.sum()))
        steps = init_iter * len(shares) + n_iter
        with count_bar(type(self).__name__, steps, unit=" steps", show=self.verbose) as bar:
            self._learn(Y, coded, shares, rng, self.sparsity_, n_iter, init_iter, bar.update)
        self.atom_classes_ = self.classes_[np.repeat(np.arange(len(shares)), shares)]
        likeness = np.abs(self.components_ @ unit_rows(Y).T)
        self.atom_row_cosines_ = likeness.max(axis=1)
        # An atom halfway between two samples is as near to both: then the first row, whatever the rounding.
        nearest = likeness >= self.atom_row_cosines_[:, None] - tolerance(X.dtype)
        self.atom_rows_ = nearest.argmax(axis=1)
        return self

    def _learn(
        self,
        Y: Array,
        coded: Array,
        shares: Array,
        rng: np.random.RandomState,
        sparsity: int,
        n_iter: int,
        init_iter: int,
        step: Callable[[], Any] = lambda: None,
    ) -> None:
        """Set components_, coef_ and objective_ from samples Y (N, m) of the classes ``coded`` (N,)."""
        weights = np.sqrt(self._class_weights(shares)).astype(Y.dtype)
        H = np.eye(len(shares), dtype=Y.dtype)[coded]
        owners = np.repeat(np.arange(len(shares)), shares)
        parts = []
        for c, share in enumerate(shares):
            own = Y[coded == c]
            start = draw_atoms(own, share, rng)
            parts.append(learn(own, start, sparsity=min(sparsity, int(share)), n_iter=init_iter, step=step).atoms)
        atoms = np.concatenate(parts)
        W = ridge_classifier(encode(Y, atoms, sparsity=sparsity), H, float(self.ridge))
        stacked = learn(
            np.hstack([Y, H * weights]),
            np.hstack([atoms, W.T * weights]),
            sparsity=sparsity,
            n_iter=n_iter,
            kin=(owners, coded),
            step=step,
        )
        self.objective_ = stacked.objective
        self.components_, W = self._unstack(stacked.atoms, Y.shape[1], weights)
        self.coef_ = self._classifier(W, encode(Y, self.components_, sparsity=sparsity), H)

    def _chosen_sparsity(
        self, Y: Array, coded: Array, shares: Array, rng: np.random.RandomState, n_iter: int, init_iter: int
    ) -> int:
        """The sparsity that is right most often on a quarter of each class, held out while a few iterations learn
        from the rest; of equals the smallest. A tenth of the features where no class has samples to spare."""
        tenth = min(MOST_BY_DEFAULT, max(1, round(Y.shape[1] / 10)))
        most = min(MOST_BY_DEFAULT, Y.shape[1], int(shares.sum()))
        tried = sorted({min(max(1, s), most) for s in (tenth // 4, tenth // 2, tenth, 2 * tenth)})
        place = np.empty(len(coded))  # of a sample in its class, from 0 to 1: the first quarter is held out
        for c, size in enumerate(np.bincount(coded)):
            place[coded == c] = (1.0 + rng.permutation(size)) / size
        among = place <= max(CHOOSING_ROWS / len(coded), 4 / np.bincount(coded).max())
        part = place / place[among].max()
        held, rest = among & (part <= 0.25), among & (part > 0.25)
        if len(tried) == 1 or not held.any() or len(np.unique(coded[rest])) < len(shares):
            return int(min(tenth, most))
        fewer = np.minimum(shares, np.bincount(coded[rest]))
        seed = rng.randint(2**31 - 1)
        for sparsity in tried:
            self._learn(Y[rest], coded[rest], fewer, np.random.RandomState(seed), sparsity, n_iter, init_iter)
            scores = self._scores(encode(Y[held], self.components_, sparsity=sparsity))
            self.sparsity_scores_[sparsity] = float(np.mean(scores.argmax(axis=1) == coded[held]))
        return int(max(tried, key=lambda sparsity: (self.sparsity_scores_[sparsity], -sparsity)))

    @staticmethod
    def _unstack(stacked: Array, n_features: int, weights: Array) -> tuple[Array, Array]:
        """Atoms at length 1 and W (C, K) in the same scale: x over d is x‖d‖ over d/‖d‖, so W takes 1/‖d‖ too.

        An atom without a part in sample space can never be picked: it becomes zero, with zero weights.
        """
        atoms, labels = stacked[:, :n_features], stacked[:, n_features:]
        norms = np.linalg.norm(atoms, axis=1, keepdims=True)
        scale = np.divide(1, norms, out=np.zeros_like(norms), where=norms > tolerance(atoms.dtype))
        W = np.divide(labels, weights, out=np.zeros_like(labels), where=weights > 0) * scale
        return np.ascontiguousarray(atoms * scale), np.ascontiguousarray(W.T)

    def _encode(self, X: Any) -> SparseCodes:
        with np.errstate(invalid="ignore"):
            X = validate_data(self, X, dtype=[np.float64, np.float32], order="C", reset=False)
        precision = self.components_.dtype
        validation.check(X, precision, or_else=", or fit with float64" if precision == np.float32 else "")
        X = X.astype(precision, copy=False)
        return encode(unit_rows(X) if self.unit_length else X, self.components_, sparsity=self.sparsity_)

    def _scores(self, codes: SparseCodes) -> Array:
        return np.asarray(codes.matrix() @ self.coef_.T)

    def decision_function(self, X: Any) -> Array:
        """W x: (n_samples, n_classes); for two classes the second's score less the first's, (n_samples,)."""
        check_is_fitted(self)
        scores = self._scores(self._encode(X))
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> Array:
        """The class with the largest score; the first of equals."""
        check_is_fitted(self)
        return np.asarray(self.classes_[self._scores(self._encode(X)).argmax(axis=1)])

    def explain(self, X: Any) -> AtomEvidence:
        """For every sample the atoms that decided, what each adds to the winning score, and the training rows the
        atoms are most like."""
        check_is_fitted(self)
        codes = self._encode(X)
        labels = np.searchsorted(self.classes_, self.atom_classes_)
        return atom_evidence(
            codes,
            self._scores(codes),
            self.coef_,
            classes=self.classes_,
            atom_labels=labels,
            atom_rows=self.atom_rows_,
        )


# D-KSVD: atoms and a linear classifier learned together.
#
# Reference: Zhang, Li, "Discriminative K-SVD for dictionary learning in face recognition", CVPR 2010.


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


# LC-KSVD: atoms that belong to classes, learned with a linear classifier.
#
# References: Jiang, Lin, Davis, "Learning a discriminative dictionary for sparse coding via label consistent K-SVD",
# CVPR 2011, and TPAMI 2013; Kviatkovsky, Gabel, Rivlin, Shimshoni, "On the equivalence of the LC-KSVD and the D-KSVD
# algorithms", TPAMI 2017.


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
