"""How an encoder wants its pictures: a repository's preprocessor_config.json as options of the feature ``onnx``.

Numbers and truth values are all that is taken from it. What makes no sense is refused. What is not known here, and may
change the pictures, is told in a warning: they are prepared without it.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kcrc.errors import DataError
from kcrc.images.decoding.resizing import FILTERS

PREPARATION = "preprocessor_config.json"
USUAL = (224, 224)
WHOLE_FROM = 384  # a ConvNeXt of this size and above sees the whole picture, a smaller one its middle
CONVNEXT = 224 / 256  # the share of the middle where its file does not say
_SMALLEST = 1e-6  # number that pixels are multiplied or divided by
_UNDERSTOOD = {
    *("size", "default_to_square", "do_resize", "resample", "do_center_crop", "crop_size", "crop_pct"),
    *("do_rescale", "rescale_factor", "do_normalize", "image_mean", "image_std", "do_flip_channel_order"),
    *("image_processor_type", "feature_extractor_type"),
}
# Names of programs and forms of arrays, what is done to labels, and colour, which pictures always have here.
_OF_NO_CONSEQUENCE = {
    *("processor_class", "_valid_processor_keys", "return_tensors", "input_data_format", "device", "disable_grouping"),
    *("do_reduce_labels", "do_convert_rgb"),
}


def prepared_by(values: Mapping[str, Any] | None, source: str) -> dict[str, Any]:
    """Options of the feature ``onnx`` from what the file says, or None where there is no file."""
    told = _Told(values or {}, source)
    if values is None:
        told.warn(
            f"there is no {PREPARATION}, so how its pictures were prepared is not known. They are stretched to "
            f"{USUAL[0]}×{USUAL[1]} with numbers from 0 to 1. If the network was trained otherwise, say so: "
            "--option size=[H,W], mean=[…], std=[…] (both on the scale 0 to 255)"
        )
    told.warn_of_the_unknown()
    mean, std = told.scale()
    return {
        **_shape(told),
        "mean": mean,
        "std": std,
        "channels": "bgr" if told.flag("do_flip_channel_order", False) else "rgb",
        "resample": told.filter(),
    }


def _shape(told: _Told) -> dict[str, Any]:
    """The size that pictures are brought to, how, and what is cut from their middle."""
    said, exact = told.sides("size")
    cut, _ = told.sides("crop_size")
    if not told.flag("do_center_crop", cut is not None):
        cut = None
    share = told.share()
    size = said or cut or USUAL
    if exact is None:  # one number is a side of a square, or the shorter side of what is cut afterwards
        exact = told.flag("default_to_square", cut is None and share is None)
    if not told.flag("do_resize", True):
        if cut is not None:
            return {"size": cut, "crop": None, "fit_to": "cut"}
        told.warn(
            "its pictures are taken as they come (do_resize is false), but a gallery's must have one size: "
            f"those of another are stretched to {size[0]}×{size[1]}. --option size=[H,W] names another"
        )
        return {"size": size, "crop": None, "fit_to": "stretch"}
    if share is not None and cut is None and size[0] >= WHOLE_FROM:
        exact = True
    elif share is not None:
        cut = cut or size
        size = (int(size[0] / share), int(size[1] / share))
    if cut is not None and (cut[0] > size[0] or cut[1] > size[1]):
        raise told.wrong("crop_size", f"it is within the size, which is {size[0]}×{size[1]}")
    return {"size": size, "crop": None if cut == size else cut, "fit_to": "stretch" if exact else "crop"}


@dataclass(frozen=True)
class _Told:
    """What the file says, each setting checked when it is asked for."""

    values: Mapping[str, Any]
    source: str

    def warn(self, words: str) -> None:
        warnings.warn(f"{self.source}: {words}.", stacklevel=4)

    def wrong(self, name: str, due: str) -> DataError:
        return DataError(f"{self.source}: its {PREPARATION} has {name} {str(self.values.get(name))[:80]}; {due}.")

    def warn_of_the_unknown(self) -> None:
        """What is off changes nothing, whatever it is."""
        known = _UNDERSTOOD | _OF_NO_CONSEQUENCE
        unknown = [name for name, value in self.values.items() if name not in known and value not in (None, False)]
        unknown = [name for name in unknown if (name, self.values[name]) != ("data_format", "channels_first")]
        if unknown:
            some = ", ".join(repr(name)[:42] for name in sorted(unknown)[:8]) + (" …" if len(unknown) > 8 else "")
            self.warn(f"its {PREPARATION} has settings that are not understood: {some}. Pictures are prepared without")

    def flag(self, name: str, otherwise: bool) -> bool:
        value = self.values.get(name)
        if value is None:
            return otherwise
        if not isinstance(value, bool):
            raise self.wrong(name, "it is true or false")
        return value

    def filter(self) -> str | None:
        """The name of Pillow's filter; None for bicubic, as features of earlier versions have it."""
        value = self.values.get("resample")
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < len(FILTERS):
            raise self.wrong("resample", f"it is a number from 0 to {len(FILTERS) - 1}, as Pillow counts its filters")
        return None if FILTERS[value] == "bicubic" else str(FILTERS[value])

    def share(self) -> float | None:
        """How much of the resized picture is kept, of each side; None where nothing is said of it."""
        value = self.values.get("crop_pct")
        if value is None:
            kind = str(self.values.get("image_processor_type") or self.values.get("feature_extractor_type"))
            return CONVNEXT if kind.startswith("ConvNext") else None
        if not _is_number(value) or not 0.1 <= value <= 1:
            raise self.wrong("crop_pct", "it is 0.1 to 1")
        return float(value)

    def sides(self, name: str) -> tuple[tuple[int, int] | None, bool | None]:
        """(height, width), and True where both are meant, False where it is the shorter side, None where unsaid."""
        value = self.values.get(name)
        if value is None:
            return None, None
        exact: bool | None = None
        if isinstance(value, list) and len(value) == 2:
            value, exact = {"height": value[0], "width": value[1]}, True
        elif isinstance(value, Mapping):
            exact = value.get("shortest_edge") is None
        else:
            value = {"shortest_edge": value}
        given = {key: side for key, side in value.items() if side is not None}
        height: Any = given.get("shortest_edge", given.get("height"))
        width: Any = given.get("shortest_edge", given.get("width"))
        if set(given) not in ({"shortest_edge"}, {"height", "width"}) or not (_is_side(height) and _is_side(width)):
            due = "which is no size of a picture. It is a number, shortest_edge, or height and width, from 8 to 2048"
            raise self.wrong(name, due)
        return (int(height), int(width)), exact

    def scale(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Mean and deviation a channel of pixels 0…255."""
        # They are multiplied by the factor, then (x − mean) / std: in our terms mean / factor and std / factor.
        factor: Any = 1 / 255
        if not self.flag("do_rescale", True):
            factor = 1.0
        elif self.values.get("rescale_factor") is not None:
            factor = self.values["rescale_factor"]
        if not _is_number(factor) or not _SMALLEST <= factor <= 1:
            raise self.wrong("rescale_factor", f"it is {_SMALLEST:g} to 1")
        mean: tuple[float, ...] = (0.0,) * 3
        std: tuple[float, ...] = (1.0,) * 3
        if self.flag("do_normalize", True):
            mean, std = self.channels("image_mean", 0.0), self.channels("image_std", 1.0)
            missing = [name for name in ("image_mean", "image_std") if self.values.get(name) is None]
            if missing and self.values.get("do_normalize"):
                self.warn(f"its {PREPARATION} says do_normalize but not {' and '.join(missing)}: 0 and 1 are taken")
        if min(std) < _SMALLEST:
            raise self.wrong("image_std", f"it is {_SMALLEST:g} or more")
        return tuple(m / factor for m in mean), tuple(s / factor for s in std)

    def channels(self, name: str, otherwise: float) -> tuple[float, ...]:
        value = self.values.get(name)
        values = value if isinstance(value, list) else [otherwise if value is None else value]
        if len(values) not in (1, 3) or not all(_is_number(v) and abs(v) < 1e6 for v in values):
            raise self.wrong(name, "it is a number, or one a channel")
        return tuple(float(v) for v in (values * 3 if len(values) == 1 else values))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_side(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 8 <= value <= 2048
