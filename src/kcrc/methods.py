"""The paper's methods by the paper's names: ``names()`` and ``make(name, **overrides)`` give ordinary estimators.

GD is the global dictionary of all examples, LCD the locality constrained one of the K nearest.
"""

from __future__ import annotations

from typing import Any

from kcrc.classifier import KCRCClassifier
from kcrc.registry import Registry

registry: Registry[Any] = Registry("method")
names = registry.names
make = registry.make
register = registry.register


def _configured(name: str, **defaults: Any) -> None:
    """Register a KCRCClassifier with these defaults; any parameter may be overridden."""

    def build(**overrides: Any) -> KCRCClassifier:
        return KCRCClassifier(**{**defaults, **overrides})

    build.__name__ = name
    register(name)(build)


PAPER: dict[str, Any] = {"metric": "unit", "decision": "ratio", "locality": "atoms"}  # rows of unit length, eq. for rᵢ

# KCRC-LCD with K = 1 is the nearest neighbour classifier (paper, introduction): nothing is left to choose.
_configured(
    "NN",
    n_neighbors=1,
    metric="plain",
    kernel="linear",
    gamma="scale",
    mu=0.01,
    form="rkhs",
    decision="ratio",
    locality="atoms",
)
_configured("CRC-GD", n_neighbors=None, kernel="linear", form="raw", **PAPER)
_configured("CRC-LCD", kernel="linear", form="raw", **PAPER)
_configured("KCRC-GD", n_neighbors=None, kernel="rbf", form="gram", **PAPER)
_configured("KCRC-LCD", kernel="rbf", form="gram", **PAPER)
