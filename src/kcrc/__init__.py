"""Classify images by example, and say which examples decided.

>>> from kcrc import KCRCClassifier  # doctest: +SKIP

What this module lists is public. Deeper paths are private and may move.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kcrc import errors as errors
    from kcrc import paper as paper
    from kcrc import scale as scale
    from kcrc._base.views import Views as Views
    from kcrc.classifier import recipes as methods  # noqa: F401
    from kcrc.classifier.estimator import KCRCClassifier as KCRCClassifier
    from kcrc.gallery import Gallery as Gallery
    from kcrc.gallery import stores as stores
    from kcrc.images import datasets as datasets
    from kcrc.images import features as features
    from kcrc.images import looks as looks
    from kcrc.images.image_classifier import ImageClassifier as ImageClassifier
    from kcrc.method import coding as coding
    from kcrc.method import decisions as decisions
    from kcrc.method import distances as distances
    from kcrc.method import kernels as kernels
    from kcrc.method import projections as projections
    from kcrc.method import scaling as scaling
    from kcrc.method.evidence import Evidence as Evidence

__version__ = "1.0.0rc1"

_PUBLIC = {
    "Evidence": "kcrc.method.evidence:Evidence",
    "Gallery": "kcrc.gallery:Gallery",
    "ImageClassifier": "kcrc.images.image_classifier:ImageClassifier",
    "KCRCClassifier": "kcrc.classifier.estimator:KCRCClassifier",
    "Views": "kcrc._base.views:Views",
    "coding": "kcrc.method.coding",
    "datasets": "kcrc.images.datasets",
    "decisions": "kcrc.method.decisions",
    "distances": "kcrc.method.distances",
    "errors": "kcrc.errors",
    "features": "kcrc.images.features",
    "kernels": "kcrc.method.kernels",
    "looks": "kcrc.images.looks",
    "methods": "kcrc.classifier.recipes",
    "paper": "kcrc.paper",
    "projections": "kcrc.method.projections",
    "scale": "kcrc.scale",
    "scaling": "kcrc.method.scaling",
    "stores": "kcrc.gallery.stores",
}
"""Every public name, and where the code for it is now."""

__all__ = [*_PUBLIC]  # noqa: PLE0604 (the names are strings)


def __getattr__(name: str) -> Any:
    """Parts are imported when first asked for, so that ``import kcrc`` and ``kcrc --help`` answer at once."""
    import importlib

    if name not in _PUBLIC:
        raise AttributeError(f"module 'kcrc' has no attribute {name!r}")
    module, _, member = _PUBLIC[name].partition(":")
    imported = importlib.import_module(module)
    return getattr(imported, member) if member else imported


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
