"""The numbers that steer the search for settings: what each does, and what set it.

What set a number stands in brackets:

[prior]   ``python -m lab.experiments.studies.prior`` measured it.
[timed]   It was timed on two ordinary cores when it was written, as its commit says; no command repeats that.
[bound]   It follows from the precision of numbers, or from how much memory a step may take.
[round]   A round number that was never measured by itself.

What all of them choose together is measured by ``lab.experiments.studies.full_grid`` and ``selftuned``: the tables in
docs/no-knobs.md.
"""

from __future__ import annotations

from typing import Any

# The arithmetic of a search: its budget is counted in operations, not in seconds of a clock.

SPEED = 3e10  # [timed] operations in a second of two cores: what ``tuning_seconds`` is counted in
STAGED_EFFORT = 30.0  # [timed] how much dearer a local problem is in the readable stages than compiled
DOUBLE_EFFORT = 4.0  # [timed] how much dearer it is posed and solved in double precision
POSING_PAIR = 25.0  # [timed] operations for a pair of atoms when a problem is posed
SOLVING_PAIR = 60.0  # [timed] the same when it is solved
SOLVING_PROBLEM = 2e4  # [timed] operations to solve a problem, however small
FOLD_PAIR = 15.0  # [timed] operations for a pair of atoms and a trial where a fold shares one dictionary
OVERSPENT = 3.0  # [round] budgets spent, from where on a setting is tried on no more than one batch
SECONDS_ENOUGH = 0.5  # [round] seconds that are enough for any data: a longer search would fit the noise of few
SECONDS_EXAMPLE = 2e-3  # [round] seconds more for each example
SECONDS_ENTRY = 4e-6  # [round] seconds more for each number of an example
PASSES_ENOUGH = 20  # [round] passes over all examples that are enough with a dictionary of given size
BATCH_ATOMS = 6e6  # [bound] squares of atoms in a batch of trials: 24 MB for each of its matrices

# Which examples are left out.

MOST_TRIALS = 2500  # [round] examples left out at most
FEWEST_TRIALS = 32  # [round] examples left out whatever it costs
FIRST_TRIALS = 256  # [round] examples for the first candidates
FIRST_TRIALS_BRIEF = 400  # [round] the same in a short search
FOLDS = 8  # [round] folds in which examples leave a global dictionary
GLOBAL_EXAMPLES = 1000  # [round] examples a search for a global dictionary uses
GLOBAL_PROJECTED = 600  # [round] the same where eigenvectors of each are wanted
HARD_TIMES = 2.0  # [round] hard examples, as a multiple of those that some probe got wrong
HARD_LEAST, HARD_MOST = 64, 300  # [round] hard examples at least, and at most
PROBES = 2  # [round] candidates of each geometry that say which examples are hard

# Where the search starts, and how far it goes.

FIRST_SIZES = (25,)  # [round] nearest atoms
FIRST_CLASSES = 4  # [round] whole classes
FIRST_CLASS_ATOMS = 120  # [round] atoms of whole classes, where two classes are not more
FIRST_WIDTHS = (0.5, 2.0)  # [round] gamma, times 1 / the squared distance of neighbour ``WIDTH_NEIGHBOUR``
WIDTH_NEIGHBOUR, WIDTH_EXAMPLES = 25, 64  # [round] whose distance says how wide kernels are, from how many examples
FIRST_PENALTIES = (1e-3, 1e-1)  # [round] mu
FIRST_PENALTIES_GRAM = (1e-5, 1e-2)  # [round] mu where D = G, of which DᵀD has the squared condition
FIRST_SHARES = (1.0,)  # [round] dimensions after projection, over the most there can be
LEAST_SHARE = 1 / 16  # [round] the least of them
LEAST_PENALTY, MOST_PENALTY = 1e-6, 100.0  # [round] mu
LEAST_PENALTY_GRAM = 1e-9  # [round] mu of a global dictionary where D = G
LEAST_PENALTY_ITERATING = 1e-3  # [timed] mu of coders that iterate: a tenth of it takes tens of times longer
WIDTH_RANGE = 1e3  # [round] factor by which gamma may leave that of the neighbourhood, up or down
MOST_ATOMS = 800  # [round] atoms of a dictionary
MOST_CLASS_ATOMS = 250  # [timed] atoms of whole classes: more took most of a small fit, and the nearest serve as well
CENTRED_SHARE = 0.5  # [round] atoms over the other examples where the mean would tell which one is missing
STEPS, STEPS_FEW = 6, 2  # [round] steps of the search, and with few examples: a fine grid would fit their noise
FEW_EXAMPLES = 200  # [round] how many these are
LEADERS = 4  # [round] candidates whose neighbours a step tries, with the best of each kind
FINALISTS = 12  # [round] candidates that are tried on all examples
DEAREST_FINALIST = 0.3  # [round] share of what is left of the budget that one finalist may cost
MOST_GEOMETRIES = 3  # [round] geometries kept after the first candidates
SPENT_FIRST, SPENT_PROBES, SPENT_HARD, SPENT_FINAL = 0.25, 0.35, 0.4, 0.95  # [round] of the budget, at which parts end
SPENT_STEPS = 0.3  # [round] of the budget, for the steps between the last two of these
SPENT_BRIEF = 0.5  # [round] the share at which the first candidates of a short search end
BRIEF_SIZES = (0.25, 1, 2)  # [round] sizes of a short search, times where a search starts

# How candidates are compared.

TEMPERATURES = tuple(2.0**power for power in range(-12, 4))  # [round] of which the loss takes the one that serves best
CLOSE_ERRORS = 2.5  # [round] standard errors behind the best, beyond which a candidate is dropped
GEOMETRY_ERRORS, GEOMETRY_LEAST = 2.0, 0.004  # [round] the same for geometries, and the least standard error taken
NEAR_ERRORS, NEAR_EXAMPLES = 0.5, 1.01  # [round] standard errors, or examples: right as often as the best, or nearly
TIED_LOSS, TIED_EXAMPLES, TIED_ERRORS = 0.02, 0.75, 0.5  # [round] share of the loss, examples, or standard errors: tied
SAME_PRICE = 1.25  # [round] factor between prices that count as the same
FLOOR = 1e-12  # [bound] of ‖y‖²: less left over of a query is nothing, and has a logarithm
SINGLE_PRECISION = 0.1  # [bound] (condition number) × (single precision) up to which margins keep their sign

# The prior: what is taken while examples say little.

FAVOURITE: dict[str, Any] = {
    "locality": "atoms", "n_neighbors": 50, "kernel": "rbf", "gamma": "scale", "mu": 0.1, "form": "rkhs",
    "decision": "residual", "share": None,
}  # [prior] what other candidates have to beat  # fmt: skip
PRIOR_ERRORS = 16.0  # [round] standard errors by which, over the number of examples per class
PRIOR_ALONE = 3  # [round] examples per class, below which the prior decides alone
SAFE: dict[str, Any] = {
    "n_neighbors": 50, "kernel": "rbf", "gamma": "scale", "mu": 0.01, "form": "rkhs", "decision": "ratio",
    "locality": "atoms", "scaling": "plain",
}  # [round] what is taken where no class has a second example to leave out  # fmt: skip

# Scalings, and weights of unified distances.

SHRINKAGES = (0.05, 0.5)  # [round] of within-class covariances, with that of the number of examples
SAME_LENGTH = 0.01  # [round] spread of the vectors' lengths over their mean: less is the same length
WIDEST_WITHIN = 4096  # [bound] features, of which the within-class covariance is a square matrix
SQUARES_FIT = 1e15  # [bound] sums of squares of such numbers are far within single precision
OFFSET_FITS, OFFSET_FITS_FEATURE = 1e3, 1e4  # [bound] spreads from the origin that single precision can take
TABLES_SHARE = 0.15  # [round] of a search, for measuring all pairs of examples once
WEIGHTS_SHARE = 0.25  # [round] of a search, for the weights of a unified distance
SCALING_SHARE = 0.4  # [round] of a search that learns weights, for the scaling and its Euclidean member alone
WEIGHT_TRIALS, WEIGHT_TRIALS_LEAST = 256, 32  # [round] examples left out for the weights
WEIGHT_ATOMS = 48  # [round] atoms of a dictionary then, at about the same size for one member and for many
WEIGHT_BYTES = 200 << 20  # [bound] memory for the distances among these
WEIGHT_STEPS = (0.5, 0.25, 0.1)  # [round] how far a step goes towards a member
WEIGHT_LEAST = 0.02  # [round] a weight below is none
WEIGHT_GAIN = 0.01  # [round] of the loss: what a step has to gain
WEIGHT_WIDTHS, WEIGHT_PENALTIES = (0.5, 2.0), (1e-3, 1e-1)  # [round] gamma times the median distance, and mu
