"""The looks of the library, one entry each: for which pictures, at which size, at what price, and what is said of it.

The picture of docs/looks.md has their order. One that may be None says so in its annotation. Prices are µs as measured
on one core of an ordinary machine, rounded. They order the looks and keep the budget. Priors (for strokes, grey and
coloured pictures) are based on published results (line drawings: shape context before geometric blur before HOG before
pixels; photographs: networks before words before gradients), never on queries of ours.
"""

from __future__ import annotations

from kcrc.images.looks.base import Look, PictureKind, Price, of_distance, of_feature, register

SMALL = 64  # pixels of the longer side, up to which a picture keeps its own size
TANGENT = 32  # pixels of the longer side for tangent distances: in larger pictures small deformations are not small


@register("pixels", words="grey values", prior=(0.2, 0.3, 0.1))
def pixels(kind: PictureKind) -> Look:
    """Grey values."""
    return of_feature("pixels", "pixels", size=kind.size(32), price=Price(picture=60))


@register("colour pixels", words="coarse colours", row="colours, place by place", prior=(0.1, 0.1, 0.2))
def colour_pixels(kind: PictureKind) -> Look | None:
    """Red, green and blue, coarsely."""
    if not kind.colour:
        return None
    return of_feature("colour pixels", "pixels", size=kind.size(16), colour=True, price=Price(picture=100))


@register("tangent", row="grey values, moved a little", prior=(0.5, 0.3, 0.1))
def tangent(kind: PictureKind) -> Look:
    """Grey values, up to small shifts, turns, scalings and changes of stroke width."""
    return of_distance("tangent", "tangent", kind.size(TANGENT), price=Price(picture=400, pair=3.0))


@register("colour", words="colours", row="how much of each colour", prior=(0.1, 0.1, 0.4))
def colour(kind: PictureKind) -> Look | None:
    """Colours of the whole picture and of its regions."""
    return of_feature("colour", "colour", price=Price(picture=1000)) if kind.colour else None


@register("hog", words="outlines", prior=(0.6, 0.6, 0.6))
def hog(kind: PictureKind) -> Look | None:
    """Outlines: directions in about seven cells per side; for small grey pictures, light against dark as well."""
    if max(kind.height, kind.width) > SMALL:
        return of_feature("hog", "hog", size=(128, 128), cell=16, price=Price(picture=4000))
    cell = _cell(kind, 7)
    if cell is None:
        return None
    if kind.colour:  # figure and background may have any colour, so which of them is lighter says nothing
        return of_feature("hog", "hog", size=(kind.height, kind.width), cell=cell, price=Price(picture=500))
    return of_feature(
        "hog", "hog", size=(kind.height, kind.width), cell=cell, colour=False, signed=True, orientations=12,
        price=Price(picture=250),
    )  # fmt: skip


@register("fine hog", words="fine outlines", row="outlines, finer", prior=(0.5, 0.5, 0.6))
def fine_hog(kind: PictureKind) -> Look | None:
    """Outlines in smaller cells (larger ones for small pictures), by direction alone."""
    if max(kind.height, kind.width) > SMALL:
        return of_feature("fine hog", "hog", size=(128, 128), cell=8, price=Price(picture=5000))
    cell = _cell(kind, 4)
    if cell is None:
        return None
    return of_feature(
        "fine hog", "hog", size=(kind.height, kind.width), cell=cell, colour=False, price=Price(picture=250)
    )


@register("sift", row="outlines, point by point", prior=(0.6, 0.6, 0.5))
def sift(kind: PictureKind) -> Look:
    """Outlines: SIFT descriptors on a grid."""
    return of_distance("sift", "sift", kind.size(SMALL), price=Price(picture=400, pair=0.5))


@register("geometric blur", row="points on outlines", prior=(0.7, 0.5, 0.5))
def geometric_blur(kind: PictureKind) -> Look:
    """Points on outlines, and the picture around each, more blurred with distance."""
    return of_distance("geometric blur", "geometric-blur", kind.size(SMALL), price=Price(picture=3000, pair=60.0))


@register("shape context", row="the course of outlines", prior=(0.8, 0.3, 0.2))
def shape_context(kind: PictureKind) -> Look:
    """Points on outlines, and where the others lie from each; one drawing is warped onto the other."""
    return of_distance("shape context", "shape-context", kind.size(SMALL), price=Price(picture=3000, pair=1500.0))


@register("lbp", words="texture", row="texture, by region", prior=(0.3, 0.5, 0.5))
def lbp(kind: PictureKind) -> Look | None:
    """Texture: patterns of each point's neighbours, by region."""
    if min(kind.height, kind.width) < 8:
        return None
    large = max(kind.height, kind.width) > SMALL
    size = (128, 128) if large else (max(16, kind.height), max(16, kind.width))
    grid = (8, 8) if large else (4, 4)
    return of_feature("lbp", "lbp", size=size, grid=grid, price=Price(picture=3000 if large else 400))


@register("marginal", row="texture, anywhere", prior=(0.1, 0.3, 0.3))
def marginal(kind: PictureKind) -> Look | None:
    """Texture: the distribution of each filter's responses, wherever they occur."""
    return _texture(kind, "marginal", "marginal")


@register("textons", row="texture, anywhere", prior=(0.1, 0.4, 0.3))
def textons(kind: PictureKind) -> Look | None:
    """Texture: which filter responses occur together, wherever they occur."""
    return _texture(kind, "textons", "texton-chi2")


@register("coarse pyramid", words="coarse visual words", row="visual words, large", prior=(0.4, 0.7, 0.8))
def coarse_pyramid(kind: PictureKind) -> Look | None:
    """Visual words of larger and fewer patches: half the price of the pyramid."""
    if min(kind.height, kind.width) < 64:
        return None
    options = {"n_components": None, "n_words": 512, "patch": 32, "step": 8}
    return of_feature("coarse pyramid", "pyramid", price=Price(picture=16_000, learning=4_000_000), **options)


@register("pyramid", words="visual words", prior=(0.4, 0.7, 0.8))
def pyramid(kind: PictureKind) -> Look | None:
    """Visual words of the whole picture and of its regions."""
    if min(kind.height, kind.width) < 48:
        return None
    # No principal axes of its own: every look is projected to the subspace of the examples.
    return of_feature("pyramid", "pyramid", n_components=None, price=Price(picture=28_000, learning=9_000_000))


@register("embedding", words="the network", row="a network's view", prior=(0.4, 0.6, 1.0))
def embedding(kind: PictureKind) -> Look | None:
    """Features of a network trained on photographs, if it is installed."""
    import importlib.util

    from kcrc.errors import ParameterError
    from kcrc.images.features.embedding import weights_file

    if min(kind.height, kind.width) < 24 or importlib.util.find_spec("onnxruntime") is None:
        return None
    try:
        weights_file()
    except ParameterError:
        return None
    return of_feature("embedding", "embedding", price=Price(picture=20_000))


def _texture(kind: PictureKind, name: str, measure: str) -> Look | None:
    if kind.strokes or min(kind.height, kind.width) < 24:  # drawings have outlines and no texture
        return None
    return of_distance(name, measure, kind.size(SMALL), price=Price(picture=4000, pair=3.0, learning=3_000_000))


def _cell(kind: PictureKind, cells: int) -> int | None:
    """Return the side of a cell so that about ``cells`` fit the shorter side, or None if fewer than two do."""
    shorter = min(kind.height, kind.width)
    cell = max(2, round(shorter / cells))
    return cell if shorter // cell >= 2 else None
