"""Is a batch of queries like the examples? A test that rarely cries wolf, what a difference costs, and who shows it.

What ``predict_proba``, ``predict_set`` and ``reject`` promise holds for queries of the examples' own source. The
examples' own answers, each asked as if it were not stored, show what answers to such queries look like. Two tests
(``kcrc.confidence.two_samples``), taken together, compare them with the queries': one the signs that give a stranger
away and the score made of them (``kcrc.confidence.open_set``), one the vectors themselves among those with
the same answer, which see a change that no sign shows yet.

By how much the promises are off is told in two ways. The queries' own probabilities say how often their answers are
wrong and their sets miss the truth: harder queries show there. Strangers do not, so the worst case counts as lost all
queries that are called unknown beyond the share that was to be expected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.confidence.two_samples import Comparison, of_signs, of_vectors, ranks, together
from kcrc.errors import ParameterError
from kcrc.method.open_set_features import signs as signs_of

if TYPE_CHECKING:
    from kcrc.confidence.calibration import Confidence
    from kcrc.method.evidence import Evidence
    from kcrc.method.fitted_model import FittedModel

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
    def joined(cls, parts: Sequence[Seen]) -> Seen:
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
