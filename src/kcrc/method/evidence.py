"""From a code to a verdict, and who decided it by how much.

A class's reconstruction of the query is Dᵢxᵢ. Its residual is

    ‖y − Dᵢxᵢ‖² = ‖y‖² − Σ_{j in class i} c_j,    c_j = x_j (2 b_j − Σ_{l in class i} H_jl x_l)

with H = DᵀD and b = Dᵀy. ``c_j`` is the **contribution** of stored example j: the part of the query's energy ‖y‖²
that it explains for its class. Contributions of a class add up to what the class explains of the query,
‖y‖² − ‖y − Dᵢxᵢ‖², its part of the reconstruction. A negative one made its class fit worse.

The **residual** a class is judged by is ‖y − Dᵢxᵢ‖/‖xᵢ‖ (decision "ratio", paper) or ‖y − Dᵢxᵢ‖ ("residual");
``kcrc.decisions`` has the others, each with contributions of its own. The smallest wins. A class without examples in
the dictionary has residual ∞. Contributions of several classes may add up to more than ‖y‖²; ``shares`` are parts of
100 %, without their signs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from kcrc._base.arrays import Array, as_python
from kcrc.method import decisions

# Each stored example's share in an answer, for it or against it: without their signs they are 100 %
# together.
#
# An answer is the winner w against its runner-up r, judged by r_w < r_r. In the paper's symbols (y the query, D the
# dictionary, x the code, Dᵢ and xᵢ its parts of class i), with the contributions c_j of ``kcrc.method.evidence``,
# example j of class i weighs
#
#     d_j = c_j                                           decision "residual", r_i = ‖y − Dᵢxᵢ‖
#     d_j = c_j / ‖xᵢ‖² + ‖y‖² x_j² / (‖x_w‖² ‖x_r‖²)     decision "ratio",    r_i = ‖y − Dᵢxᵢ‖ / ‖xᵢ‖
#
# with the sign turned in class r, and 0 in classes that are neither. Under both rules Σ d_j = r_r² − r_w²: the weights
# add up to the lead of the winner over the runner-up, so they balance exactly where the answer turns. The other
# decisions of ``kcrc.decisions`` go by the first formula, or by the second where they divide by ‖xᵢ‖, with
# contributions of their own; those of "sum" add up to log r_r − log r_w. The share of j is
#
#     s_j = d_j / Σ |d_l|,    above 0 for the answer, below 0 against it, Σ |s_j| = 1.
#
# Without a runner-up (all neighbours agree) d_j = c_j: what j explains of the query. Where nothing was coded all
# neighbours have the same share, and where nothing resembles the query the nearest one has all of it.


def shares(evidence: Evidence, rival: Array, *, nearest: Array) -> Array:
    """s_j (B, K) of the winner against the classes ``rival`` (B,), which is the winner itself where there is none;
    ``nearest`` (B,) says where the nearest example alone decided."""
    c, real = evidence.contributions, evidence.rows >= 0
    mine = (evidence.neighbour_labels == evidence.winner[:, None]) & real
    theirs = (evidence.neighbour_labels == rival[:, None]) & real & ~mine
    weight = np.where(mine, c, 0.0) - np.where(theirs, c, 0.0)
    if evidence.decision in decisions.names() and decisions.resolve(evidence.decision).over_length:
        against = rival != evidence.winner
        weight[against] = _under_ratio(evidence, mine, theirs)[against]
    weight[nearest] = c[nearest]  # 0, but NaN where no explanation was asked for
    weight[nearest, 0] += 1.0
    largest = np.abs(weight).max(axis=1, keepdims=True, initial=0.0)
    weight = np.where(largest == 0.0, real, weight / np.where(largest == 0.0, 1.0, largest))
    return np.asarray(weight / np.abs(weight).sum(axis=1, keepdims=True))


def _under_ratio(evidence: Evidence, mine: Array, theirs: Array) -> Array:
    """d_j times ‖x_w‖² ‖x_r‖², of codes whose largest entry is 1."""
    x = np.where(mine | theirs, evidence.coefficients, 0.0)
    largest = np.abs(x).max(axis=1, keepdims=True, initial=0.0)
    squared = (x / np.where(largest > 0, largest, 1.0)) ** 2
    n_mine, n_theirs = (np.where(side, squared, 0.0).sum(axis=1, keepdims=True) for side in (mine, theirs))
    both = evidence.energy[:, None] * squared
    c = evidence.contributions
    return np.asarray(np.where(mine, c * n_theirs + both, 0.0) - np.where(theirs, c * n_mine + both, 0.0))


def sentences(evidence: Evidence, rival: Array, *, how: list[str]) -> list[str]:
    """What the shares of each answer against ``rival`` mean, in plain words."""
    counts = (evidence.rows >= 0).sum(axis=1)
    known = zip(evidence.labels, evidence.classes[rival], how, counts, evidence.support, strict=True)
    return [_sentence(str(answer), str(other), way, count, support) for answer, other, way, count, support in known]


def _sentence(answer: str, rival: str, how: str, count: int, support: float) -> str:
    if how == "nearest":
        return "Nothing stored resembles the query: the nearest example alone decided."
    if rival == answer:
        return (
            f"No other class than {answer} had a part in it. A share is what one of the {count} examples explains of "
            "the query; without their signs they are 100 % together."
        )
    return (
        f"{answer} against {rival}: {support:.1%} speaks for {answer}, {1 - support:.1%} against it; at half the "
        "answer would turn. Without their signs all shares add up to 100 %; examples of other classes have none."
    )


def together(some: Array) -> str:
    """What the shares of several examples come to."""
    return f"{np.maximum(some, 0.0).sum():.1%} for the answer, {np.maximum(-some, 0.0).sum():.1%} against it"


CODED, UNANIMOUS, NEAREST = 0, 1, 2
HOW = (
    "coded",  # represented by the dictionary, the class with the smallest residual won
    "unanimous",  # all neighbours share a class: answered as such (paper, Algorithm 3, step 2), coded if explained
    "nearest",  # nothing in the dictionary resembles the query: the class of the nearest example
)


@dataclass(frozen=True, eq=False)
class Evidence:
    """The answers to B queries and what they rest on. Index or iterate it for single queries.

    B queries, C classes, K examples in the dictionary of each.

    Parameters
    ----------
    classes : ndarray of shape (C,)
        The class names.
    decision : str
        What the classes were judged by, as ``kcrc.decisions`` names it.
    winner : ndarray of shape (B,)
        Number of the winning class.
    residuals : ndarray of shape (B, C)
        What the classes were judged by, smaller is better, ∞ where not in the dictionary.
    energy : ndarray of shape (B,)
        ‖y‖², what there was to explain (‖Dx‖² of "joint"); 0 where nothing was coded.
    rows : ndarray of shape (B, K)
        The stored examples in the dictionary by their row number, nearest first, −1 = padding.
    distances : ndarray of shape (B, K)
        Their distances to the query.
    neighbour_labels : ndarray of shape (B, K)
        Their class numbers, −1 = padding.
    coefficients : ndarray of shape (B, K)
        Their coefficients x (0 where nothing was coded).
    contributions : ndarray of shape (B, K)
        The part of ``energy`` each explains for its class; see the module's docstring.
    how : ndarray of shape (B,)
        0 coded, 1 unanimous, 2 nearest.
    converged : ndarray of shape (B,)
        Whether the coder's iterations came to an end.
    n_iter : ndarray of shape (B,)
        How many there were.
    search : str, default="exact"
        "exact", or by which approximate search the examples were found, and how many that finds.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from kcrc import KCRCClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> evidence = KCRCClassifier(n_neighbors=20).fit(X[:500], y[:500]).explain(X[500:502])
    >>> len(evidence), evidence[0].rows.shape
    (2, (1, 20))
    >>> float(abs(evidence.shares[0]).sum().round(6))
    1.0
    """

    classes: Array
    decision: str
    winner: Array
    residuals: Array
    energy: Array
    rows: Array
    distances: Array
    neighbour_labels: Array
    coefficients: Array
    contributions: Array
    how: Array
    converged: Array
    n_iter: Array
    search: str = "exact"

    def __len__(self) -> int:
        return len(self.winner)

    def __getitem__(self, which: int | slice | Sequence[int] | Array) -> Evidence:
        if isinstance(which, (int, np.integer)):
            if not -len(self) <= which < len(self):
                raise IndexError(f"Evidence of {len(self)} queries has no number {which}.")
            at = int(which) % len(self)
            which = slice(at, at + 1)
        return replace(self, **{name: getattr(self, name)[which] for name in _PER_QUERY})

    def __iter__(self) -> Iterator[Evidence]:
        return (self[i] for i in range(len(self)))

    @property
    def labels(self) -> Array:
        """(B,) the answers."""
        return self.classes[self.winner]

    @property
    def scores(self) -> Array:
        """(B, C) 1/(1 + residual): 1 is a perfect fit, 0 a class that is not in the dictionary."""
        return np.asarray(1.0 / (1.0 + self.residuals))

    @property
    def margin(self) -> Array:
        """(B,) how far the winner's score is ahead of the runner-up's: 0 is a tie, 1 as clear as can be."""
        scores = self.scores
        if scores.shape[1] == 1:
            return np.ones(len(scores))
        second, first = np.partition(scores, -2, axis=1)[:, -2:].T
        return np.asarray(first - second)

    @property
    def runner_up(self) -> Array:
        """(B,) number of the second class; the winner itself where no other class is in the dictionary."""
        rest = self.residuals.copy()
        rest[np.arange(len(rest)), self.winner] = np.inf
        second = rest.argmin(axis=1)
        return np.where(np.isfinite(rest[np.arange(len(rest)), second]), second, self.winner)

    @property
    def shares(self) -> Array:
        """(B, K) each example's share in the answer against the runner-up, above 0 for it, below 0 against it; in
        absolute terms they add up to 1 (formula: ``kcrc.method.evidence``)."""
        return shares(self, self.runner_up, nearest=self.how == NEAREST)

    @property
    def support(self) -> Array:
        """(B,) the sum of the shares for the answer: against the runner-up the answer turns at ½."""
        return np.asarray(np.maximum(self.shares, 0.0).sum(axis=1))

    @property
    def sentences(self) -> list[str]:
        """What the shares of each answer mean, in plain words, and how the examples were found where not all were."""
        told = sentences(self, self.runner_up, how=[HOW[number] for number in self.how])
        return told if self.search == "exact" else [f"{one} Approximate search: {self.search}." for one in told]

    def to_dict(self) -> dict[str, Any] | list[dict[str, Any]]:
        """Plain Python values, ready for JSON: a dict for one query, else a list of them.

        Returns
        -------
        dict, or list of dict
            A dict for one query, else one for each.

        Examples
        --------
        >>> sorted(evidence[0].to_dict())[:4]
        ['energy', 'how', 'label', 'margin']
        """
        if len(self) != 1:
            return [one.to_dict() for one in self]  # type: ignore[misc]  # each of them is a single query
        in_dictionary = np.flatnonzero(np.isfinite(self.residuals[0]))
        order = in_dictionary[np.argsort(self.residuals[0, in_dictionary], kind="stable")]
        real = np.flatnonzero(self.rows[0] >= 0)
        share = self.shares[0]
        return {
            "label": as_python(self.labels[0]),
            "how": HOW[self.how[0]],
            "margin": float(self.margin[0]),
            "runner_up": as_python(self.classes[self.runner_up[0]]) if len(order) > 1 else None,
            "residuals": [[as_python(self.classes[c]), float(self.residuals[0, c])] for c in order],
            "energy": float(self.energy[0]),
            "support": float(self.support[0]),
            "sentence": self.sentences[0],
            "search": self.search,
            "neighbours": [
                {
                    "row": int(self.rows[0, j]),
                    "label": as_python(self.classes[self.neighbour_labels[0, j]]),
                    "distance": float(self.distances[0, j]),
                    "coefficient": float(self.coefficients[0, j]),
                    "contribution": float(self.contributions[0, j]),
                    "share": float(share[j]),
                }
                for j in real
            ],
        }

    def to_frame(self) -> Any:
        """A pandas DataFrame with a line for every query and stored example (needs pandas).

        Returns
        -------
        pandas.DataFrame
            Columns query, answer, row, label, distance, coefficient, contribution, share.

        Examples
        --------
        >>> len(evidence.to_frame())
        40
        """
        import pandas as pd

        query, place = np.nonzero(self.rows >= 0)
        return pd.DataFrame(
            {
                "query": query,
                "answer": self.labels[query],
                "row": self.rows[query, place],
                "label": self.classes[self.neighbour_labels[query, place]],
                "distance": self.distances[query, place],
                "coefficient": self.coefficients[query, place],
                "contribution": self.contributions[query, place],
                "share": self.shares[query, place],
            }
        )

    def __repr__(self) -> str:
        shown = 3
        text = "\n".join(one._story() for one in self[:shown])
        more = f"\n… and {len(self) - shown} more queries" if len(self) > shown else ""
        found = "" if self.search == "exact" else f", found by approximate search: {self.search}"
        return f"Evidence of {len(self)} {'query' if len(self) == 1 else 'queries'}{found}\n{text}{more}"

    def _story(self, top: int = 5) -> str:
        label, how = self.labels[0], HOW[self.how[0]]
        if how == "unanimous":
            k = int((self.rows[0] >= 0).sum())
            return "\n".join([f"  {label!s}: all {k} neighbours agree", *self._sharers(top)])
        if how == "nearest":
            return f"  {label!s}: nothing stored resembles it; nearest is row {self.rows[0, 0]}"
        second = self.classes[self.runner_up[0]]
        residual = self.residuals[0]
        lines = [
            f"  {label!s}: residual {residual[self.winner[0]]:.4g}, runner-up {second!s} "
            f"{residual[self.runner_up[0]]:.4g}, margin {self.margin[0]:.3f}"
        ]
        lines += self._sharers(top)
        return "\n".join(lines)

    def _sharers(self, top: int) -> list[str]:
        """A line for each of the examples with the largest shares, and one for the rest of the 100 %."""
        share = self.shares[0]
        order = [j for j in np.argsort(-np.abs(share), kind="stable") if self.rows[0, j] >= 0]
        lines = [
            f"    row {self.rows[0, j]:<7} {self.classes[self.neighbour_labels[0, j]]!s:<12} "
            f"distance {self.distances[0, j]:<9.4g} share {share[j]:+.1%}"
            for j in order[:top]
        ]
        rest = share[order[top:]]
        if len(rest):
            lines.append(f"    {len(rest)} more: {together(rest)}")
        return lines


_PER_QUERY = [f.name for f in fields(Evidence) if f.name not in ("classes", "decision", "search")]


def contrast(residuals: Array) -> Array:
    """(B,) from residuals of two classes (B, 2): (r₁ − r₂)/(r₁ + r₂), from −1 (surely the first) to 1."""
    with np.errstate(divide="ignore"):
        logs = np.log(residuals)
    first, second = logs.T
    tie = first == second  # also where both are perfect
    difference = np.subtract(first, second, out=np.zeros(len(first)), where=~tie)
    return np.asarray(np.tanh(0.5 * difference))


def join_evidence(parts: Sequence[Evidence]) -> Evidence:
    """The evidence of several batches as one; narrower neighbourhoods are padded."""
    if len(parts) == 1:
        return parts[0]
    width = max(part.rows.shape[1] for part in parts)
    padding = {"rows": -1, "neighbour_labels": -1, "distances": np.inf, "coefficients": 0, "contributions": 0}

    def column(name: str) -> Array:
        arrays = [getattr(part, name) for part in parts]
        if name in padding:
            arrays = [
                np.pad(a, ((0, 0), (0, width - a.shape[1])), constant_values=padding[name]) if a.shape[1] < width else a
                for a in arrays
            ]
        return np.concatenate(arrays)

    together: dict[str, Any] = {name: column(name) for name in _PER_QUERY}
    return replace(parts[0], **together)


# What may give a stranger away in the evidence of its answer: the features that open-set recognition weighs.

SIGNS = ("log nearest distance", "log distance to the winner's 3 nearest", "log residual", "concentration")
FAR = 1  # the column that tells familiar queries from others of the same class
NEAR = 3


def _of_winner(evidence: Evidence) -> Array:
    """(B, K) which examples are of the class answered."""
    return np.asarray((evidence.neighbour_labels == evidence.winner[:, None]) & (evidence.rows >= 0))


def log_distance(evidence: Evidence) -> Array:
    """(B,) of the query to the nearest NEAR examples of the class answered, the logarithm of the mean."""
    mine = _of_winner(evidence)
    first = mine & (np.cumsum(mine, axis=1) <= NEAR)
    mean = np.where(first, evidence.distances, 0.0).sum(axis=1) / np.maximum(first.sum(axis=1), 1)
    return np.asarray(np.log(np.maximum(mean, np.finfo(np.float64).tiny)))


# Rounding may make classes equal that the answer tells apart: 1/(1 + r) of two residuals, their logarithms, anything in
# single precision. Whatever is said of classes as numbers has to name the same class as the answer.


def leading(values: Array, winner: Array) -> Array:
    """Values (B, C) of which higher is better, in their precision: those of classes that are not behind the winner (B,)
    are just below its own."""
    batch = np.arange(len(values))
    tied = values >= values[batch, winner, None]
    tied[batch, winner] = False
    if not tied.any():
        return values
    best = np.maximum(values[batch, winner], np.finfo(values.dtype).tiny)
    led = np.where(tied, np.nextafter(best, np.zeros_like(best))[:, None], values)
    led[batch, winner] = best
    return led


def leaning(evidence: Evidence) -> Array:
    """(B,) between two classes, from −2 to 2, above 0 for the second: the contrast of their residuals; where only one
    class is near, 1 and more, by how near it is."""
    lead = contrast(evidence.residuals)
    alone = evidence.how == UNANIMOUS
    if alone.any():
        near = 1.0 / (1.0 + np.exp(log_distance(evidence[alone])))
        lead[alone] += np.sign(lead[alone]) * near
    least = float(np.finfo(np.float32).tiny)
    return np.where(evidence.winner == 1, np.maximum(lead, least), np.minimum(lead, 0.0))


def open_set_features(evidence: Evidence) -> Array:
    """(B, 4) what may give a stranger away; NaN where nothing was coded."""
    batch = np.arange(len(evidence))
    tiny = np.finfo(np.float64).tiny
    real = evidence.rows >= 0
    mine = _of_winner(evidence)
    nearest = np.fmin.reduce(np.where(real, evidence.distances, np.nan), axis=1)
    coded = evidence.how == CODED
    weight = np.where(real, evidence.coefficients, 0.0) ** 2
    share = np.where(mine, weight, 0.0).sum(axis=1) / np.maximum(weight.sum(axis=1), tiny)
    residual = evidence.residuals[batch, evidence.winner]
    with np.errstate(invalid="ignore"):
        return np.stack(
            [
                np.log(np.maximum(nearest, tiny)),
                log_distance(evidence),
                np.where(coded, np.log(np.maximum(np.where(coded, residual, 1.0), tiny)), np.nan),
                np.where(coded, share, np.nan),
            ],
            axis=1,
        )
