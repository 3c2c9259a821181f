"""Is a batch of queries like the examples? A test that rarely cries wolf, what a difference costs, and who shows it.

What ``predict_proba``, ``predict_set`` and ``reject`` promise holds for queries of the examples' own source. The
examples' own answers, each asked as if it were not stored, show what answers to such queries look like. Two tests
(``kcrc.confidence.likeness``), taken together, compare them with the queries': one the signs that give a stranger
away and the score made of them (``kcrc.confidence.open_set``), one the vectors themselves among those with
the same answer, which see a change that no sign shows yet.

By how much the promises are off is told in two ways. The queries' own probabilities say how often their answers are
wrong and their sets miss the truth: harder queries show there. Strangers do not, so the worst case counts as lost all
queries that are called unknown beyond the share that was to be expected.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import ParameterError
from kcrc.method.evidence import open_set_features as signs_of

if TYPE_CHECKING:
    from kcrc.confidence.calibration import Confidence
    from kcrc.method.evidence import Evidence
    from kcrc.method.fitted_model import FittedModel


# Were two samples drawn alike? Each test sets a distance of means beside its values when who is who is drawn by lot.
#
# With x the rows of both samples, centred, and U the sum of x over the second sample,
#
#     T² = Uᵀ (S + λI)⁻¹ U,    S the covariance of x,    p = (1 + draws with as large a T²) / (1 + draws).
#
# ``of_signs`` compares the ranks of few columns, λ = 0, and sees any shift of them. A few rows that are far out shift
# ranks by little; so it also compares the mean of one number, how strange a row is, by its exponential scores −log(1 −
# rank), in which they weigh most. The smaller of the two p-values counts, set beside the smaller of the two in each
# draw: together they raise no more alarms than one alone.
#
# ``of_vectors`` compares wide vectors, λ the mean variance, inside strata: rows are centred, and the lots drawn,
# within each, so that other shares of the strata are no difference.
#
# ``together`` makes one p-value of several tests of the same rows, however they depend on each other: the mean of
# tan((½ − p)π), which has the Cauchy distribution where nothing differs (Liu and Xie 2020, "Cauchy combination test").

DRAWS = 499
WIDE = 512  # numbers of a vector; more are brought down to so many
BLOCK = 1 << 22  # numbers drawn at once
NO_SIGN = 0.95  # p-values above count as this one: agreement in one respect takes nothing from another
EQUAL = 1.0 - 1e-6  # draws are as large from here on: the same lots summed in another order


@dataclass(frozen=True, eq=False)
class Comparison:
    """p_value; shift (columns,) of the second sample in standard deviations, where columns are few; pull (m,) how far
    each row of the second sample lies towards the difference; far_out: whether it is in the rows that are far out."""

    p_value: float
    shift: Array
    pull: Array
    far_out: bool = False


def ranks(values: Array) -> Array:
    """(N,) ranks between 0 and 1, ties alike; ½ where a value is NaN."""
    from scipy.stats import rankdata  # only where batches are compared: it takes a while to load

    out = np.full(len(values), 0.5)
    there = ~np.isnan(values)
    out[there] = (rankdata(values[there]) - 0.5) / max(1, there.sum())
    return out


def of_signs(columns: Array, strangeness: Array, second: Array, rng: np.random.Generator) -> Comparison:
    """Of columns (N, k) and how strange the rows are (N,), the rows ``second`` (N,) bool against the others."""
    centred = columns - columns.mean(axis=0)
    spread = centred.T @ centred / len(centred)
    inverse = np.linalg.pinv(spread, rcond=1e-6, hermitian=True)
    outlying = -np.log1p(-ranks(strangeness))
    outlying -= outlying.mean()
    values: list[Array] = []
    for lots in itertools.chain([second[None].astype(np.float64)], _lots(second, np.zeros(len(second), np.intp), rng)):
        drawn = lots @ centred
        values.append(np.column_stack([np.einsum("ij,jk,ik->i", drawn, inverse, drawn), lots @ outlying]))
    mean = centred[second].mean(axis=0)
    deviation = np.sqrt(np.diag(spread))
    shift = np.divide(mean, deviation, out=np.zeros_like(mean), where=deviation > 0)
    p_value, which = _more_unusual(np.concatenate(values))
    pull = outlying[second] if which else centred[second] @ inverse @ mean
    return Comparison(p_value, shift, pull, far_out=bool(which))


def _more_unusual(values: Array) -> tuple[float, int]:
    """The p-value of the first row of (1 + draws, 2) by whichever of its values is the more unusual, and which is."""
    about = (1.0 - EQUAL) * np.abs(values).max(axis=0)
    as_large = [np.searchsorted(np.sort(-x), near - x, side="right") for x, near in zip(values.T, about, strict=True)]
    smaller = np.minimum(*as_large)
    return float((smaller <= smaller[0]).mean()), int(as_large[1][0] < as_large[0][0])


def of_vectors(vectors: Array, second: Array, strata: Array, rng: np.random.Generator) -> Comparison:
    """Of vectors (N, d), the rows ``second`` against the others of the same stratum (N,)."""
    from scipy.linalg import cholesky, solve_triangular  # only where batches are compared: it takes a while to load

    _, strata = np.unique(strata, return_inverse=True)
    both = (np.bincount(strata, second) > 0) & (np.bincount(strata, ~second) > 0)
    kept = both[strata]
    pull = np.zeros(len(strata))
    if not kept.any():
        return Comparison(1.0, np.zeros(0), pull[second])
    _, within = np.unique(strata[kept], return_inverse=True)
    chosen = second[kept]
    x = _centre(vectors[kept].astype(np.float64), within)
    deviation = np.sqrt((x**2).mean(axis=0))
    x = np.divide(x, deviation, out=np.zeros_like(x), where=deviation > 0)  # units do not matter
    if x.shape[1] > WIDE:  # random directions keep lengths, and are the same for both samples
        x = x @ rng.normal(size=(x.shape[1], WIDE))
    lifted = x.T @ x
    lifted[np.diag_indices_from(lifted)] += float(np.trace(lifted)) / len(lifted) or 1.0
    white = np.asarray(solve_triangular(cholesky(lifted, lower=True), x.T, lower=True)).T
    total = white[chosen].sum(axis=0)
    towards, limit = white @ total, EQUAL * float(total @ total)
    as_large = 0
    for lots in _lots(chosen, within, rng):
        as_large += int((((lots @ white) ** 2).sum(axis=1) >= limit).sum())
    pull[kept] = towards
    return Comparison((1 + as_large) / (1 + DRAWS), np.zeros(0), pull[second])


def together(p_values: Sequence[float]) -> float:
    """One p-value for several."""
    at_most = np.minimum(p_values, NO_SIGN)
    return float(0.5 - np.arctan(np.tan((0.5 - at_most) * np.pi).mean()) / np.pi)


def _centre(x: Array, strata: Array) -> Array:
    """Rows x (N, d) less the mean of their stratum."""
    order = np.argsort(strata, kind="stable")
    sizes = np.bincount(strata)
    sums = np.add.reduceat(x[order], np.cumsum(sizes) - sizes, axis=0)
    return np.asarray(x - (sums / sizes[:, None])[strata])


def _lots(second: Array, strata: Array, rng: np.random.Generator) -> Iterator[Array]:
    """Draws of who is in the second sample, (some, N) of 0 and 1: as many of each stratum as there are."""
    total = len(second)
    in_order = np.argsort(strata, kind="stable")
    as_many = second[in_order].astype(np.float64)
    for start in range(0, DRAWS, step := max(1, BLOCK // total)):
        keys = strata[in_order] + rng.random((min(step, DRAWS - start), total))
        lots = np.zeros_like(keys)
        np.put_along_axis(lots, in_order[np.argsort(keys, axis=1)], as_many[None], axis=1)
        yield lots


LEVEL = 0.02
MOST = 4000  # queries whose signs are looked at; more would not make the test surer of anything that matters
VECTORS, EXAMPLES = 1000, 2500  # queries, and examples, whose vectors are
SHOWN = 10  # queries named
COVERAGE, REJECT = 0.95, 0.05  # the promises that are looked at

WORDS = (  # what queries are that have more, and less, of a sign; the last is "not coded"
    ("farther from their nearest example", "nearer to their nearest example"),
    ("farther from the examples of the class answered", "nearer to the examples of the class answered"),
    ("represented worse by the class answered", "represented better by the class answered"),
    ("represented more by the class answered alone", "represented more by several classes together"),
    ("more often amid examples of one class", "more often amid examples of several classes"),
)
FAR_OUT = "more often strange to the stored classes"
IN_VECTORS = "other than the examples of the same class in what is measured of them"


@dataclass(frozen=True, eq=False)
class Seen:
    """Of m answers: signs (m, 4), the answers (m,), how likely each is wrong (m,) and its set of 95 % holds the truth
    (m,); ``vectors`` (up to m, d) of the first of them, as they were given."""

    signs: Array
    labels: Array
    wrong: Array
    covered: Array
    vectors: Array

    def __len__(self) -> int:
        return len(self.labels)

    @classmethod
    def of(cls, confidence: Confidence, evidence: Evidence, vectors: Array | None = None) -> Seen:
        """Of the evidence for some queries, and the queries (None: they are not kept)."""
        p, signs = confidence.probabilities(evidence), signs_of(evidence)
        inside = confidence.needed_sets().members(confidence.scores(p, signs), evidence.classes, COVERAGE, False)
        kept = np.empty((0, 0)) if vectors is None else vectors
        wrong = 1.0 - p[np.arange(len(p)), evidence.winner]
        return cls(signs, evidence.labels, wrong, np.where(inside, p, 0.0).sum(axis=1), kept)

    @classmethod
    def join(cls, parts: Sequence[Seen]) -> Seen:
        """Several batches as one."""
        kept = [part.vectors for part in parts if len(part.vectors)]
        return cls(
            signs=np.concatenate([part.signs for part in parts]),
            labels=np.concatenate([part.labels for part in parts]),
            wrong=np.concatenate([part.wrong for part in parts]),
            covered=np.concatenate([part.covered for part in parts]),
            vectors=np.concatenate(kept) if kept else np.empty((0, 0)),
        )


@dataclass(frozen=True, eq=False)
class UsualAnswers:
    """Of B examples, each asked as if it were not stored: signs (B, 4), the answers (B,), whether they were right (B,),
    and the examples' row numbers (B,)."""

    signs: Array
    labels: Array
    right: Array
    rows: Array


@dataclass(frozen=True)
class Promise:
    """A share that is promised, and what becomes of it for some queries.

    Attributes
    ----------
    promised : float
        As promised for queries that are like the examples.
    likely : float
        As likely for these, by their own probabilities.
    worst : float
        If the strange ones among them are of no stored class.
    """

    promised: float
    likely: float
    worst: float

    def __str__(self) -> str:
        return f"about {self.likely:.1%} (at worst {self.worst:.1%}) instead of {self.promised:.1%}"


@dataclass(frozen=True)
class Likeness:
    """How like the stored examples a batch of queries is; print it for a sentence.

    Attributes
    ----------
    queries : int
        How many queries were compared.
    examples : int
        With how many examples.
    p_value : float
        How often queries that are like the examples would differ from them as much as these do.
    level : float
        The p-value up to which there is an alarm: the share of false alarms.
    different : str
        In what the queries differ most from the examples, in words.
    covered : Promise
        Of sets that promise 95 %, how many hold the truth.
    wrong : Promise
        How many answers are wrong.
    unknown : float
        The share of the queries that ``reject=0.05`` calls unknown.
    rows : tuple of int
        The queries, by their place in the batch, that show the difference most; the plainest first.
    alarm : bool
        Whether the queries are not like the examples.
    """

    queries: int
    examples: int
    p_value: float
    level: float
    different: str
    covered: Promise
    wrong: Promise
    unknown: float
    rows: tuple[int, ...]

    @property
    def alarm(self) -> bool:
        """Whether the queries are not like the examples."""
        return self.p_value <= self.level

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        return {"alarm": self.alarm, **asdict(self), "rows": list(self.rows)}

    def __str__(self) -> str:
        if not self.alarm:
            return f"Nothing shows that these {self.queries} are unlike the examples (p = {self.p_value:.2g})."
        return (
            f"These {self.queries} are not like the examples (p = {self.p_value:.2g}): they are {self.different}. What "
            f"is promised does not hold for them: sets hold the truth for {self.covered}, and {self.wrong} of the "
            f"answers are wrong; reject=0.05 calls {self.unknown:.1%} unknown."
        )


def likeness(model: FittedModel, confidence: Confidence, asked: Seen, *, level: float = LEVEL) -> Likeness:
    """Of the queries ``asked``, with the examples' own answers in ``confidence``."""
    if isinstance(level, bool) or not isinstance(level, (int, float, np.number)) or not 0 < level < 1:
        raise ParameterError(f"level is the share of false alarms, between 0 and 1, such as 0.02; got {level!r}.")
    usual, open_set = confidence.needed_usual(), confidence.needed_open_set()
    rng = np.random.default_rng(0)
    which = _some(len(asked), MOST, rng)
    second = np.repeat([False, True], [len(usual.labels), len(which)])
    signs = np.concatenate([usual.signs, asked.signs[which]])
    columns, strangeness = _columns(signs), open_set.score(signs)
    if not _can_agree(model):
        columns, strangeness = columns[:, :2], signs[:, 0]  # distances; what is coded is another kind of query there
    found = by_signs = of_signs(columns, strangeness, second, rng)
    strongest = int(np.abs(by_signs.shift).argmax())
    in_words = FAR_OUT if by_signs.far_out else WORDS[strongest][0 if by_signs.shift[strongest] > 0 else 1]
    different, rows, p_value = in_words, which, by_signs.p_value
    if len(asked.vectors) and not _given_as_table(model):
        rows_of_vectors, by_vectors = _by_vectors(model, usual, asked, rng)
        p_value = together([by_signs.p_value, by_vectors.p_value])
        if by_vectors.p_value < by_signs.p_value:
            found, different, rows = by_vectors, IN_VECTORS, rows_of_vectors
    unknown = float((open_set.score(asked.signs) > open_set.threshold(REJECT)).mean())
    strangers = max(0.0, unknown - REJECT)
    covered, wrong = float(asked.covered.mean()), float(asked.wrong.mean())
    return Likeness(
        queries=len(asked),
        examples=len(usual.labels),
        p_value=p_value,
        level=float(level),
        different=different,
        covered=Promise(COVERAGE, covered, max(0.0, covered - strangers)),
        wrong=Promise(float(np.mean(~usual.right)), wrong, min(1.0, wrong + strangers)),
        unknown=unknown,
        rows=tuple(int(row) for row in rows[np.argsort(-found.pull, kind="stable")[:SHOWN]]),
    )


def _some(total: int, most: int, rng: np.random.Generator) -> Array:
    """Up to ``most`` of ``total`` positions, drawn by lot."""
    return np.arange(total) if total <= most else np.sort(rng.permutation(total)[:most])


def _columns(signs: Array) -> Array:
    """(N, 5) the ranks of the signs, and whether a query was not coded."""
    return np.column_stack([*(ranks(column) for column in signs.T), np.isnan(signs[:, 2])])


def _can_agree(model: FittedModel) -> bool:
    """Whether all neighbours of an example can be of its class when it is left out: where a class has no more examples
    than a dictionary, they can for a query and cannot for an example."""
    counts = np.bincount(model.labels)
    return model.method.n_neighbors is not None and int(counts[counts > 0].min()) > model.method.n_neighbors


def _given_as_table(model: FittedModel) -> bool:
    """Whether samples are rows of a precomputed matrix: an example's holds itself, so it is not like a query's."""
    return model.method.distance.given_as_matrix or model.method.kernel.given_as_matrix


def _by_vectors(
    model: FittedModel, usual: UsualAnswers, asked: Seen, rng: np.random.Generator
) -> tuple[Array, Comparison]:
    """Which queries were compared, and how: with the examples that got the same answer."""
    at = np.minimum(np.searchsorted(model.ids, usual.rows), len(model) - 1)
    there = np.flatnonzero(model.ids[at] == usual.rows)  # some may have been forgotten
    mine = there[_some(len(there), EXAMPLES, rng)]
    theirs = _some(len(asked.vectors), VECTORS, rng)
    vectors = np.concatenate([model.raw[at[mine]], asked.vectors[theirs]])
    labels = np.concatenate([usual.labels[mine], asked.labels[theirs]])
    return theirs, of_vectors(vectors, np.repeat([False, True], [len(mine), len(theirs)]), labels, rng)
