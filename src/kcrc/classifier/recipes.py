"""The paper's methods by the paper's names: ``make(name, **overrides)`` gives an ordinary estimator.

GD is the global dictionary of all examples, LCD the locality constrained one of the K nearest.
"""

from __future__ import annotations

from typing import Any

from kcrc._base.registry import Registry
from kcrc.classifier.estimator import KCRCClassifier

__all__ = ["make", "names", "register", "resolve"]

registry: Registry[Any] = Registry("method")
names = registry.names
make = registry.make
register = registry.register


def resolve(spec: Any) -> Any:
    """Return the estimator that a name stands for; return an estimator as it is."""
    return make(spec) if isinstance(spec, str) else spec


def _register_recipe(name: str, **defaults: Any) -> None:
    """Register a KCRCClassifier with these defaults; any parameter may be overridden."""

    def build(**overrides: Any) -> KCRCClassifier:
        return KCRCClassifier(**{**defaults, **overrides})

    build.__name__ = name
    register(name)(build)


PAPER: dict[str, Any] = {"scaling": "unit", "locality": "atoms"}  # rows of unit length
CRC: dict[str, Any] = {**PAPER, "kernel": "linear", "form": "raw", "decision": "ratio"}  # eq. for rᵢ, over ‖xᵢ‖
KCRC: dict[str, Any] = {**PAPER, "kernel": "rbf", "form": "gram", "decision": "ratio"}  # Algorithms 1 and 2
GLOBAL: dict[str, Any] = {"n_neighbors": None}

# KCRC-LCD with K = 1 is the nearest neighbour classifier (paper, introduction): nothing is left to choose.
_register_recipe("NN", **{**CRC, "n_neighbors": 1, "scaling": "plain", "form": "rkhs", "gamma": "scale", "mu": 0.01})
_register_recipe("CRC-GD", **CRC, **GLOBAL)
_register_recipe("CRC-LCD", **CRC)
_register_recipe("RCRC-GD", coder="robust", **CRC, **GLOBAL)
_register_recipe("RCRC-LCD", coder="robust", **CRC)
# Sparse representation judges by the plain residual (Wright et al. 2009).
_register_recipe("SRC-GD", coder="lasso", **{**CRC, "decision": "residual"}, **GLOBAL)
_register_recipe("SRC-LCD", coder="lasso", **{**CRC, "decision": "residual"})
_register_recipe("KCRC-GD", **KCRC, **GLOBAL)
_register_recipe("KCRC-LCD", **KCRC)
_register_recipe("KRCRC-GD", coder="robust", **KCRC, **GLOBAL)
_register_recipe("KRCRC-LCD", coder="robust", **KCRC)
_register_recipe("KSRC-GD", coder="lasso", **{**KCRC, "decision": "residual"}, **GLOBAL)
_register_recipe("KSRC-LCD", coder="lasso", **{**KCRC, "decision": "residual"})
_register_recipe("KCRC-KPCA", projection="kpca", **KCRC, **GLOBAL)
_register_recipe("KCRC-KFDA", projection="kfda", **KCRC, **GLOBAL)
_register_recipe("KCRC-RP", projection="random", **KCRC, **GLOBAL)
_register_recipe("KCRC-Graph", projection="graph", **KCRC, **GLOBAL)


# After the paper; each is one mask, one diagonal or one rule away (references: kcrc.coding, kcrc.decisions).
_register_recipe("ProCRC-GD", coder="probabilistic", **{**CRC, "decision": "joint"}, **GLOBAL)
_register_recipe("ProCRC-LCD", coder="probabilistic", **{**CRC, "decision": "joint"})
_register_recipe("CRT-GD", coder="tikhonov", **{**CRC, "decision": "residual"}, **GLOBAL)
_register_recipe("CRT-LCD", coder="tikhonov", **{**CRC, "decision": "residual"})
_register_recipe("KCRT-LCD", coder="tikhonov", **{**KCRC, "form": "rkhs", "decision": "residual"})
_register_recipe("NRS-GD", coder="nrs", **{**CRC, "decision": "residual"}, **GLOBAL)
_register_recipe("NRC-GD", coder="nonnegative", **{**CRC, "decision": "residual"}, **GLOBAL)
_register_recipe("NRC-LCD", coder="nonnegative", **{**CRC, "decision": "residual"})
_register_recipe("SA-CRC-GD", coder="augmented", **{**CRC, "decision": "sum"}, **GLOBAL)
_register_recipe("CROC-GD", **{**CRC, "decision": "croc"}, **GLOBAL)
_register_recipe("KCRC-Sum-GD", **{**KCRC, "form": "rkhs", "decision": "sum"}, **GLOBAL)  # kernel ridge
_register_recipe("KCRC-Sum-LCD", **{**KCRC, "form": "rkhs", "decision": "sum"})


@register("D-KSVD")
def _dksvd(**options: Any) -> Any:
    """A dictionary and a linear classifier learned together (Zhang and Li 2010)."""
    from kcrc.method.learned import DKSVDClassifier

    return DKSVDClassifier(**options)


@register("LC-KSVD1")
def _lcksvd1(**options: Any) -> Any:
    """Codes of one class learned to look alike (Jiang et al. 2011), the classifier after."""
    from kcrc.method.learned import LCKSVDClassifier

    return LCKSVDClassifier(**{"variant": 1, **options})


@register("LC-KSVD2")
def _lcksvd2(**options: Any) -> Any:
    """The same with the classifier learned inside."""
    from kcrc.method.learned import LCKSVDClassifier

    return LCKSVDClassifier(**{"variant": 2, **options})
