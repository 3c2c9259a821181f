"""How a feature wants to see pictures, and pictures brought to that: size, proportions, grey or colour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from kcrc.errors import DataError, ParameterError

if TYPE_CHECKING:
    from PIL.Image import Image

    from kcrc._base.arrays import Array

LARGEST = 1 << 24  # pixels of a view: a feature computes with many numbers for each
Fit = Literal["stretch", "crop", "inside", "cut"]
Resample = Literal["nearest", "lanczos", "bilinear", "bicubic", "box", "hamming"]
FILTERS = get_args(Resample)  # in the order of Pillow's numbers, 0 to 5
_GREY = (0.299, 0.587, 0.114)  # ITU-R 601, as Pillow and JPEG have it


@dataclass(frozen=True)
class View:
    """How pictures are wanted: ``size`` (height, width) or None as they come, grey or colour, and how they fit.

    ``stretch`` fills the size whatever the proportions, ``crop`` keeps them and cuts out the centre, ``inside``
    keeps them and makes the longer side at most ``max(size)``, so that pictures differ in shape. ``cut`` scales
    nothing: the centre is cut out, with a black border where a picture is smaller. ``resample`` is Pillow's filter.
    """

    size: tuple[int, int] | None = None
    colour: bool = True
    fit: Fit = "stretch"
    resample: Resample = "bicubic"

    def __post_init__(self) -> None:
        if self.size is not None and (len(self.size) != 2 or min(self.size) < 1 or max(self.size) > 16_384):
            raise ParameterError(f"size is (height, width), each from 1 to 16384; got {self.size!r}.")
        if self.size is not None and self.size[0] * self.size[1] > LARGEST:
            raise ParameterError(f"size has at most {LARGEST} pixels; got {self.size[0]} times {self.size[1]}.")
        if self.fit not in get_args(Fit):
            raise ParameterError(f"fit is 'stretch', 'crop', 'inside' or 'cut'; got {self.fit!r}.")
        if self.resample not in FILTERS:
            raise ParameterError(f"resample is one of {', '.join(map(repr, FILTERS))}; got {self.resample!r}.")

    def scaled_size(self, height: int, width: int) -> tuple[int, int]:
        """The (height, width) that a whole picture is scaled to before anything is cut off."""
        if self.size is None or self.fit == "cut":
            return height, width
        if self.fit == "stretch":
            return self.size
        if self.fit == "crop":
            scale = max(self.size[0] / height, self.size[1] / width)
        else:
            scale = min(1.0, max(self.size) / max(height, width))
        return max(1, round(height * scale)), max(1, round(width * scale))


def fit_image(image: Image, view: View) -> Image:
    """A Pillow image at the size and in the proportions of the view."""
    from PIL import Image as Pillow

    if view.size is None:
        return image
    width, height = image.size
    if view.fit == "cut":
        x, y = (width - view.size[1]) // 2, (height - view.size[0]) // 2
        return image.crop((x, y, x + view.size[1], y + view.size[0]))
    box = None
    to = view.scaled_size(height, width)
    if view.fit == "crop":
        to = view.size
        scale = max(to[0] / height, to[1] / width)
        keep_w, keep_h = to[1] / scale, to[0] / scale
        left, top = max(0.0, (width - keep_w) / 2), max(0.0, (height - keep_h) / 2)
        box = (left, top, min(width, left + keep_w), min(height, top + keep_h))
    if box is None and to == (height, width):
        return image
    by = Pillow.Resampling[view.resample.upper()]
    return image.resize((to[1], to[0]), by, box=box, reducing_gap=2.0)


def view_array(picture: Array, view: View) -> Array:
    """A picture in memory, (h, w) or (h, w, 1 | 3 | 4), as the view wants it; its number type is kept.

    uint8 counts 0…255; floating point numbers are taken as they are (0…1 where a feature needs a scale).
    """
    import numpy as np  # not above: a worker of the box, which needs the view alone, does not wait for it

    if picture.ndim == 3 and picture.shape[2] == 1:
        picture = picture[:, :, 0]
    if picture.ndim not in (2, 3) or (picture.ndim == 3 and picture.shape[2] not in (3, 4)) or not picture.size:
        raise DataError(f"A picture is an array (h, w) or (h, w, 3); got shape {picture.shape}.")
    if picture.dtype == np.bool_:
        picture = picture.astype(np.uint8) * np.uint8(255)
    if picture.dtype != np.uint8 and not np.issubdtype(picture.dtype, np.floating):
        raise DataError(f"Pictures are uint8 (0 to 255) or floating point (0 to 1); got {picture.dtype}.")
    if picture.dtype != np.uint8:
        picture = picture.astype(np.float32, copy=False)
    if picture.ndim == 3 and picture.shape[2] == 4:
        picture = picture[:, :, :3]
    if picture.ndim == 3 and not view.colour:
        grey = picture @ np.array(_GREY, np.float32)
        picture = np.rint(grey).astype(np.uint8) if picture.dtype == np.uint8 else grey
    sized = _resized_array(picture, view)
    return np.repeat(sized[:, :, None], 3, axis=2) if view.colour and sized.ndim == 2 else sized


def _resized_array(picture: Array, view: View) -> Array:
    height, width = picture.shape[:2]
    if view.size is None or (view.size == (height, width) and view.fit != "inside"):
        return picture
    if view.fit == "inside" and view.scaled_size(height, width) == (height, width):
        return picture
    import numpy as np
    from PIL import Image as Pillow

    if picture.dtype == np.uint8:
        return np.asarray(fit_image(Pillow.fromarray(np.ascontiguousarray(picture)), view))
    planes = picture[:, :, None] if picture.ndim == 2 else picture
    # Pillow resamples floating point one plane at a time.
    done: list[Any] = [
        np.asarray(fit_image(Pillow.fromarray(np.ascontiguousarray(planes[:, :, c])), view))
        for c in range(planes.shape[2])
    ]
    return done[0] if picture.ndim == 2 else np.stack(done, axis=2)
