"""The names of the format: which parts a file may hold, and where the code for each is now.

A tag, once written, means the same for good. When a class moves, its row here changes and its tag does not.
"""

from __future__ import annotations

REGISTRIES = {
    "metric": "kcrc.method.scaling",
    "distance": "kcrc.method.distances.base",
    "kernel": "kcrc.method.kernels.base",
    "coder": "kcrc.method.coding.base",
    "projection": "kcrc.method.projections.base",
}
"""Parts that users know by name: their tag is the kind and that name, as in "metric/within"."""

OTHERS = {
    "method": "kcrc.method.fitted_model:Method",
    "form/raw": "kcrc.method.local_problem:Raw",
    "form/gram": "kcrc.method.local_problem:Gram",
    "form/rkhs": "kcrc.method.local_problem:Rkhs",
    "distance-of-kernel": "kcrc.method.kernels.of_distance:KernelDistance",
    "calibration": "kcrc.confidence.calibration:Calibration",
    "familiarity": "kcrc.confidence.calibration:Familiarity",
    "conformal-sets": "kcrc.confidence.calibration:ConformalSets",
    "confidence": "kcrc.confidence.calibration:Confidence",
    "open-set": "kcrc.confidence.open_set:OpenSet",
    "exclusion": "kcrc.tuning.left_out.exclusion:Exclusion",
    "left-out": "kcrc.tuning.left_out.answers:LeftOut",
    "setting": "kcrc.tuning.setting:Setting",
    "score": "kcrc.tuning.setting:Score",
    "tuning": "kcrc.tuning.setting:Tuning",
}
"""All other parts: tag -> module:class."""

NAMES_OF_VERSION_1 = {
    "coding.ridge.Ridge": "coder/ridge",
    "coding.robust.Robust": "coder/robust",
    "coding.sparse.BasisPursuitDenoising": "coder/bpdn",
    "coding.sparse.L1L1": "coder/l1l1",
    "coding.sparse.Lasso": "coder/lasso",
    "confidence.Calibration": "calibration",
    "confidence.Confidence": "confidence",
    "confidence.ConformalSets": "conformal-sets",
    "distances.geometric_blur.GeometricBlur": "distance/geometric-blur",
    "distances.histogram.ChiSquare": "distance/chi2",
    "distances.histogram.Intersection": "distance/intersection",
    "distances.lbp.LBPChi2": "distance/lbp-chi2",
    "distances.pixel.Chessboard": "distance/chessboard",
    "distances.pixel.Correlation": "distance/correlation",
    "distances.pixel.Cosine": "distance/cosine",
    "distances.pixel.Euclidean": "distance/euclidean",
    "distances.pixel.Mahalanobis": "distance/mahalanobis",
    "distances.pixel.Manhattan": "distance/manhattan",
    "distances.pixel.SquaredEuclidean": "distance/sqeuclidean",
    "distances.precomputed.PrecomputedDistance": "distance/precomputed",
    "distances.shape_context.ShapeContext": "distance/shape-context",
    "distances.sift.SIFT": "distance/sift",
    "distances.tangent.Tangent": "distance/tangent",
    "distances.textons.Marginal": "distance/marginal",
    "distances.textons.TextonChi2": "distance/texton-chi2",
    "distances.unified.Unified": "distance/unified",
    "kernels.Exponential": "kernel/exp",
    "kernels.KernelDistance": "distance-of-kernel",
    "kernels.Linear": "kernel/linear",
    "kernels.Polarisation": "kernel/polarisation",
    "kernels.Polynomial": "kernel/polynomial",
    "kernels.PrecomputedKernel": "kernel/precomputed",
    "kernels.RBF": "kernel/rbf",
    "metrics.Plain": "metric/plain",
    "metrics.Standard": "metric/standard",
    "metrics.Unit": "metric/unit",
    "metrics.Within": "metric/within",
    "model.Method": "method",
    "open_set.OpenSet": "open-set",
    "projections.base.Identity": "projection/identity",
    "projections.random.Random": "projection/random",
    "projections.spectral.Graph": "projection/graph",
    "projections.spectral.KFDA": "projection/kfda",
    "projections.spectral.KPCA": "projection/kpca",
    "spaces.Gram": "form/gram",
    "spaces.Raw": "form/raw",
    "spaces.Rkhs": "form/rkhs",
    "tuning.left_out.LeftOut": "left-out",
    "tuning.removed.Exclusion": "exclusion",
    "tuning.setting.Score": "score",
    "tuning.setting.Setting": "setting",
    "tuning.setting.Tuning": "tuning",
}
"""What version 1 called the parts: module.Class, as the code was then."""
