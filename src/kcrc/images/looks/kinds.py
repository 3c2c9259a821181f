"""What kind of pictures they are: how large, grey or colour, strokes or photographs.

A kind says which looks make sense and at which size, and, where examples are too few to be asked, which tend to see
most: the one table of what is held before anything is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kcrc._base.arrays import Array

_SAMPLE = 200  # pictures looked at
_EXTREME, _INK = 0.15, 0.8  # of the range counts as black or white; of the pixels are so in strokes
_TINT = 0.04  # mean difference of channels (of 1) that makes a colour picture

PRIOR: dict[str, dict[str, float]] = {
    #                 strokes  grey  colour
    "pixels":         {"strokes": 0.2, "grey": 0.3, "colour": 0.1},
    "colour pixels":  {"strokes": 0.1, "grey": 0.1, "colour": 0.2},
    "hog":            {"strokes": 0.6, "grey": 0.6, "colour": 0.6},
    "fine hog":       {"strokes": 0.5, "grey": 0.5, "colour": 0.6},
    "lbp":            {"strokes": 0.3, "grey": 0.5, "colour": 0.5},
    "colour":         {"strokes": 0.1, "grey": 0.1, "colour": 0.4},
    "sift":           {"strokes": 0.6, "grey": 0.6, "colour": 0.5},
    "tangent":        {"strokes": 0.5, "grey": 0.3, "colour": 0.1},
    "marginal":       {"strokes": 0.1, "grey": 0.3, "colour": 0.3},
    "textons":        {"strokes": 0.1, "grey": 0.4, "colour": 0.3},
    "geometric blur": {"strokes": 0.7, "grey": 0.5, "colour": 0.5},
    "shape context":  {"strokes": 0.8, "grey": 0.3, "colour": 0.2},
    "coarse pyramid": {"strokes": 0.4, "grey": 0.7, "colour": 0.8},
    "pyramid":        {"strokes": 0.4, "grey": 0.7, "colour": 0.8},
    "embedding":      {"strokes": 0.4, "grey": 0.6, "colour": 1.0},
}  # fmt: skip
"""How much a look tends to see in pictures of a kind, 0 to 1, before any example is asked. From published results (line
drawings: shape context before geometric blur before HOG before pixels; photographs: networks before words before
gradients) and never from queries of ours. A look of a user's own counts UNKNOWN."""
UNKNOWN = 0.5


@dataclass(frozen=True)
class PictureKind:
    """What kind of pictures the examples are: ``kind_`` of an ``ImageClassifier``, and what a registered look is given.

    Attributes
    ----------
    height, width : int
        In pixels, the median of the pictures.
    colour : bool
        Whether some have one.
    strokes : bool
        Whether they are mostly black and white, as writing and drawings are.
    count : int
        How many examples there are.
    name : str
        "colour", "strokes" or "grey".
    """

    height: int
    width: int
    colour: bool
    strokes: bool
    count: int

    @property
    def name(self) -> str:
        """The column of PRIOR."""
        return "colour" if self.colour else "strokes" if self.strokes else "grey"

    def prior(self, look: str) -> float:
        """How much the look tends to see in such pictures."""
        return PRIOR.get(look, {}).get(self.name, UNKNOWN)

    def size(self, most: int) -> tuple[int, int]:
        """(height, width) of the pictures in their own proportions, the longer side at most ``most`` pixels."""
        scale = min(1.0, most / max(self.height, self.width))
        return max(1, round(self.height * scale)), max(1, round(self.width * scale))


def kind_of(pictures: Sequence[Array]) -> PictureKind:
    """The kind of some pictures."""
    some = pictures[:: max(1, len(pictures) // _SAMPLE)]
    height = int(np.median([picture.shape[0] for picture in some]))
    width = int(np.median([picture.shape[1] for picture in some]))
    colour = float(np.mean([_tint(picture) for picture in some])) > _TINT
    strokes = not colour and float(np.mean([_extreme(picture) for picture in some])) > _INK
    return PictureKind(height, width, colour, strokes, len(pictures))


def _tint(picture: Array) -> float:
    if picture.ndim == 2:
        return 0.0
    scale = 255.0 if picture.dtype == np.uint8 else 1.0
    values = picture.astype(np.float32) / scale
    return float((values.max(axis=2) - values.min(axis=2)).mean())


def _extreme(picture: Array) -> float:
    """The share of pixels near the darkest or the brightest."""
    values = picture.astype(np.float32) if picture.ndim == 2 else picture.astype(np.float32).mean(axis=2)
    low, high = float(values.min()), float(values.max())
    near = _EXTREME * (high - low)
    return float(((values <= low + near) | (values >= high - near)).mean())
