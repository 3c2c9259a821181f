"""Preprocessing of an encoder: a repository's preprocessor_config.json as options of the feature ``onnx``.

Only numbers and booleans are read. Invalid values are refused. Unknown settings that may change the pictures cause a
warning, and pictures are preprocessed without them.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kcrc.errors import DataError
from kcrc.images.decoding.resizing import FILTERS

PREPARATION = "preprocessor_config.json"
USUAL = (224, 224)  # pixels, if the file gives no size
WHOLE_FROM = 384  # pixels: a ConvNeXt of at least this size takes the whole picture, a smaller one its middle
CONVNEXT = 224 / 256  # the share of each side that a ConvNeXt takes, if its file does not say
_SMALLEST = 1e-6  # number by which pixels may be multiplied or divided
_UNDERSTOOD = {
    *("size", "default_to_square", "do_resize", "resample", "do_center_crop", "crop_size", "crop_pct"),
    *("do_rescale", "rescale_factor", "do_normalize", "image_mean", "image_std", "do_flip_channel_order"),
    *("image_processor_type", "feature_extractor_type"),
}
# Names of programs, array layouts, treatment of labels, and colour, which pictures always have here.
_WITHOUT_EFFECT = {
    *("processor_class", "_valid_processor_keys", "return_tensors", "input_data_format", "device", "disable_grouping"),
    *("do_reduce_labels", "do_convert_rgb"),
}


def onnx_options(values: Mapping[str, Any] | None, source: str) -> dict[str, Any]:
    """Return options of the feature ``onnx`` from the settings of the file; None if there is no file."""
    config = _Config(values or {}, source)
    if values is None:
        config.warn(
            f"there is no {PREPARATION}, so its preprocessing is not known. Pictures are stretched to "
            f"{USUAL[0]}×{USUAL[1]} with numbers from 0 to 1. If the network was trained otherwise, give "
            "--option size=[H,W], mean=[…], std=[…] (both on the scale 0 to 255)"
        )
    config.warn_of_the_unknown()
    mean, std = config.scale()
    return {
        **_size_options(config),
        "mean": mean,
        "std": std,
        "channels": "bgr" if config.flag("do_flip_channel_order", False) else "rgb",
        "resample": config.filter(),
    }


def _size_options(config: _Config) -> dict[str, Any]:
    """Return the options for the size of pictures, how they are fitted to it, and the crop from their middle."""
    named, exact = config.sides("size")
    cut, _ = config.sides("crop_size")
    if not config.flag("do_center_crop", cut is not None):
        cut = None
    share = config.share()
    size = named or cut or USUAL
    if exact is None:  # one number is the side of a square, or the shorter side before cropping
        exact = config.flag("default_to_square", cut is None and share is None)
    if not config.flag("do_resize", True):
        if cut is not None:
            return {"size": cut, "crop": None, "fit_to": "cut"}
        config.warn(
            "its pictures are not resized (do_resize is false), but those of a gallery must have one size: they are "
            f"stretched to {size[0]}×{size[1]}. Set another with --option size=[H,W]"
        )
        return {"size": size, "crop": None, "fit_to": "stretch"}
    if share is not None and cut is None and size[0] >= WHOLE_FROM:
        exact = True
    elif share is not None:
        cut = cut or size
        size = (int(size[0] / share), int(size[1] / share))
    if cut is not None and (cut[0] > size[0] or cut[1] > size[1]):
        raise config.error("crop_size", f"it must be within the size, {size[0]}×{size[1]}")
    return {"size": size, "crop": None if cut == size else cut, "fit_to": "stretch" if exact else "crop"}


@dataclass(frozen=True)
class _Config:
    """The settings of the file, each checked when it is read."""

    values: Mapping[str, Any]
    source: str

    def warn(self, words: str) -> None:
        warnings.warn(f"{self.source}: {words}.", stacklevel=4)

    def error(self, name: str, rule: str) -> DataError:
        return DataError(f"{self.source}: its {PREPARATION} has {name} {str(self.values.get(name))[:80]}; {rule}.")

    def warn_of_the_unknown(self) -> None:
        """Warn of unknown settings, except those that are off."""
        known = _UNDERSTOOD | _WITHOUT_EFFECT
        unknown = [name for name, value in self.values.items() if name not in known and value not in (None, False)]
        unknown = [name for name in unknown if (name, self.values[name]) != ("data_format", "channels_first")]
        if unknown:
            names = ", ".join(repr(name)[:42] for name in sorted(unknown)[:8]) + (" …" if len(unknown) > 8 else "")
            self.warn(f"its {PREPARATION} has unknown settings: {names}. Pictures are preprocessed without them")

    def flag(self, name: str, default: bool) -> bool:
        value = self.values.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.error(name, "it must be true or false")
        return value

    def filter(self) -> str | None:
        """Return the name of Pillow's filter; None for bicubic, as in features of earlier versions."""
        value = self.values.get("resample")
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < len(FILTERS):
            raise self.error("resample", f"it must be 0 to {len(FILTERS) - 1}, the number of a Pillow filter")
        return None if FILTERS[value] == "bicubic" else str(FILTERS[value])

    def share(self) -> float | None:
        """Return the share of each side that is kept of the resized picture, or None if the file does not say."""
        value = self.values.get("crop_pct")
        if value is None:
            kind = str(self.values.get("image_processor_type") or self.values.get("feature_extractor_type"))
            return CONVNEXT if kind.startswith("ConvNext") else None
        if not _is_number(value) or not 0.1 <= value <= 1:
            raise self.error("crop_pct", "it must be 0.1 to 1")
        return float(value)

    def sides(self, name: str) -> tuple[tuple[int, int] | None, bool | None]:
        """Return (height, width), and whether both are exact; False if it is the shorter side, None if unknown."""
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
        sides = {key: side for key, side in value.items() if side is not None}
        height: Any = sides.get("shortest_edge", sides.get("height"))
        width: Any = sides.get("shortest_edge", sides.get("width"))
        if set(sides) not in ({"shortest_edge"}, {"height", "width"}) or not (_is_side(height) and _is_side(width)):
            raise self.error(name, "it must be a number, shortest_edge, or height and width, from 8 to 2048")
        return (int(height), int(width)), exact

    def scale(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Return mean and standard deviation per channel, for pixels 0…255."""
        # The file means (factor · x − mean) / std, which is (x − mean / factor) / (std / factor).
        factor: Any = 1 / 255
        if not self.flag("do_rescale", True):
            factor = 1.0
        elif self.values.get("rescale_factor") is not None:
            factor = self.values["rescale_factor"]
        if not _is_number(factor) or not _SMALLEST <= factor <= 1:
            raise self.error("rescale_factor", f"it must be {_SMALLEST:g} to 1")
        mean: tuple[float, ...] = (0.0,) * 3
        std: tuple[float, ...] = (1.0,) * 3
        if self.flag("do_normalize", True):
            mean, std = self.channels("image_mean", 0.0), self.channels("image_std", 1.0)
            missing = [name for name in ("image_mean", "image_std") if self.values.get(name) is None]
            if missing and self.values.get("do_normalize"):
                self.warn(f"its {PREPARATION} says do_normalize but not {' and '.join(missing)}; 0 and 1 are used")
        if min(std) < _SMALLEST:
            raise self.error("image_std", f"it must be at least {_SMALLEST:g}")
        return tuple(m / factor for m in mean), tuple(s / factor for s in std)

    def channels(self, name: str, default: float) -> tuple[float, ...]:
        value = self.values.get(name)
        values = value if isinstance(value, list) else [default if value is None else value]
        if len(values) not in (1, 3) or not all(_is_number(v) and abs(v) < 1e6 for v in values):
            raise self.error(name, "it must be a number, or one per channel")
        return tuple(float(v) for v in (values * 3 if len(values) == 1 else values))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_side(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 8 <= value <= 2048
