"""Classify images by example, and say which examples decided.

>>> from kcrc import KCRCClassifier  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kcrc.classifier import KCRCClassifier as KCRCClassifier
    from kcrc.evidence import Evidence as Evidence
    from kcrc.gallery import Gallery as Gallery
    from kcrc.looks.classifier import ImageClassifier as ImageClassifier
    from kcrc.views import Views as Views

__version__ = "1.0.0rc1"
__all__ = [
    "Evidence", "Gallery", "ImageClassifier", "KCRCClassifier", "Views", "coding", "datasets", "decisions", "distances",
    "features", "kernels", "looks", "methods", "metrics", "projections",
]  # fmt: skip

_LAZY = {
    "Evidence": "kcrc.evidence",
    "Gallery": "kcrc.gallery",
    "ImageClassifier": "kcrc.looks.classifier",
    "KCRCClassifier": "kcrc.classifier",
    "Views": "kcrc.views",
}


def __getattr__(name: str) -> Any:
    """Parts are imported when first asked for, so that ``import kcrc`` and ``kcrc --help`` answer at once."""
    import importlib

    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    if name in __all__:
        return importlib.import_module(f"kcrc.{name}")
    raise AttributeError(f"module 'kcrc' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
