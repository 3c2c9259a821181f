"""What a worker of the box does with a picture: opens, turns upright, brings to a view; by Pillow alone, without NumPy.

Pictures of up to 64 million pixels are decoded whole. Larger ones are brought down while they are decoded, as far as
the size that is wanted allows: JPEG by its decoder, the others a block at a time.

HEIC and RAW photographs (the extra ``photos``) are opened by readers of their own. HEIC is decoded by pi-heif, which
has no encoder, and so nothing under the GPL in it. Of a RAW file the preview that the camera stored is taken, which
shows what the photographer saw; where there is none of a useful size it is developed by rawpy at half its size.
"""

from __future__ import annotations

import io
import re
import warnings
from importlib import import_module
from itertools import chain
from typing import Any

from PIL import (
    BmpImagePlugin,
    ExifTags,
    GifImagePlugin,
    Image,
    ImageCms,
    ImageFile,
    ImageOps,
    ImagePalette,
    JpegImagePlugin,
    PngImagePlugin,
    TiffImagePlugin,
    WebPImagePlugin,
)

from kcrc.files.boxed import Head, Reply
from kcrc.images.decoding.limits import ImageError, Limits, too_many_pixels
from kcrc.images.decoding.pixels import Shrink, rows_of, upright
from kcrc.images.decoding.resizing import View, fit_image

WHOLE_PIXELS = 64_000_000
_DRAFT_FLOOR = 256
_MOST_SHRINK = 64
_LONG_SIDE = 512  # pixels: a smaller preview in a RAW file is not worth looking at
_NO_MEMORY = re.compile("out of memory|error -9")  # how Pillow words it where it does not raise MemoryError
# The readers themselves, not Image.open, which would try others.
_READERS: dict[str, Any] = {
    "JPEG": JpegImagePlugin.JpegImageFile,
    "PNG": PngImagePlugin.PngImageFile,
    "WEBP": WebPImagePlugin.WebPImageFile,
    "BMP": BmpImagePlugin.BmpImageFile,
    "TIFF": TiffImagePlugin.TiffImageFile,
    "GIF": GifImagePlugin.GifImageFile,
}
_NEEDED_LATER = (ImageCms, ImageOps, ImagePalette)  # which Pillow imports as it goes


def prepare(*readers: str) -> None:
    """Import what cannot be imported once the process is confined; ``readers`` are packages for photographs."""
    for name in readers:
        import_module(name)
    warnings.simplefilter("ignore")  # Pillow warns of sizes, which are limited here
    Image.MAX_IMAGE_PIXELS = None
    PngImagePlugin.MAX_TEXT_CHUNK = PngImagePlugin.MAX_TEXT_MEMORY  # the text beside a good picture does no harm


def answer(head: Head, content: bytearray) -> Reply:
    """The pixels of a picture and its thumbnail, or why there are none."""
    try:
        return _answer(head, content)
    except ImageError as problem:
        return Reply({"problem": [problem.kind, problem.why]})


def _answer(head: Head, content: bytearray) -> Reply:
    kind, limits = head["kind"], Limits(max_pixels=head["max_pixels"])
    size = head["size"]
    view = View(None if size is None else (size[0], size[1]), head["colour"], head["fit"], head["resample"])
    like = f"begins like a {kind} but cannot be opened; it is damaged or incomplete."
    image, form = _attempt(lambda: _open_image(content, kind, limits), like)
    _check_pixels(image.size, limits)
    if view.size is None and image.width * image.height > WHOLE_PIXELS:
        raise _not_scaled(image.size, view)
    turn, full = 1, image.size
    if image.format == "JPEG":
        turn = _orientation(image)
        _attempt(lambda: image.draft("", _draft(image.size, turn, view)), like)
    try:
        _attempt(image.load)
    except ImageError:
        # libjpeg calls it damage if there is no memory for the coefficients of all scans, two bytes each.
        if image.info.get("progressive") and 6 * full[0] * full[1] > head["memory"]:
            raise MemoryError from None
        raise
    if image.format != "JPEG":  # a PNG may say it at its end, a TIFF is turned already
        turn, full = _orientation(image), image.size
    whole = _attempt(lambda: upright(image, turn, _shrink(image.size, turn, view)))
    seen = _attempt(lambda: _fit_to_view(whole, view))
    thumbnail = (
        _attempt(lambda: _jpeg(_fit_to_view(whole, View((head["thumbnail"],) * 2, fit="inside"))))
        if head["thumbnail"]
        else b""
    )
    shape = (seen.height, seen.width) if seen.mode == "L" else (seen.height, seen.width, 3)
    told = {"shape": shape, "format": form, "full": full[::-1] if turn <= 4 else full}
    pixel_bytes = seen.width * seen.height * len(seen.getbands())
    return Reply(told, pixel_bytes + len(thumbnail), chain(rows_of(seen), [thumbnail]))


def _attempt(work: Any, why: str = "") -> Any:
    """What ``work`` gives; whatever it raises becomes one ``ImageError`` or a MemoryError."""
    try:
        return work()
    except (ImageError, MemoryError):
        raise
    except Exception as problem:  # decoders raise anything, struct.error to RecursionError, on damaged files
        first_line = (str(problem) or type(problem).__name__).splitlines()[0][:300]
        if _NO_MEMORY.search(first_line):
            raise MemoryError from None
        raise ImageError("", "broken", why or f"cannot be decoded ({first_line}).") from None


def _open_image(content: bytearray, kind: str, limits: Limits) -> tuple[Any, str]:
    """The image as Pillow sees it, its pixels not yet read, and its format."""
    if kind == "HEIC":
        return import_module("pi_heif").HeifImageFile(io.BytesIO(content)), kind
    if kind == "RAW":
        return _develop(content, limits), kind
    image: ImageFile.ImageFile = _READERS[kind](io.BytesIO(content))
    if len(image.tile) <= 1:
        image.decodermaxblock = max(len(content), 8192)  # Pillow would put long rows together from small pieces
    return image, kind


def _develop(content: bytearray, limits: Limits) -> Any:
    """The preview that the camera stored in a RAW file, if it is large enough; else the sensor's values, developed."""
    rawpy = import_module("rawpy")
    with rawpy.imread(io.BytesIO(content)) as raw:
        try:
            preview = raw.extract_thumb()
        except rawpy.LibRawError:
            preview = None
        if preview is not None and preview.format == rawpy.ThumbFormat.JPEG:
            image = JpegImagePlugin.JpegImageFile(io.BytesIO(preview.data))
            if max(image.size) >= _LONG_SIDE:
                return image
        _check_pixels((raw.sizes.raw_width, raw.sizes.raw_height), limits)
        return Image.fromarray(raw.postprocess(half_size=True, use_camera_wb=True, output_bps=8))


def _check_pixels(size: tuple[int, int], limits: Limits) -> None:
    if size[0] * size[1] > limits.max_pixels:
        raise too_many_pixels("", *size, limits)


def _orientation(image: Any) -> int:
    """1 (upright) to 8. Whatever is odd about EXIF and XMP, the picture stays as it stands."""
    try:
        said = image.getexif().get(ExifTags.Base.Orientation, 1)
        said = said[0] if isinstance(said, tuple) and said else said
    except MemoryError:
        raise
    except Exception:  # as many kinds as EXIF can be damaged
        return 1
    return said if isinstance(said, int) and 1 <= said <= 8 else 1


def _draft(size: tuple[int, int], turn: int, view: View) -> tuple[int, int]:
    """The size that a decoder may shrink to as it decodes.

    Twice the target leaves the resampling enough to work on, and a floor leaves enough for a thumbnail: pixels must
    not depend on whether one is made.
    """
    if view.size is None:
        return size
    tall, wide = (max(2 * n, _DRAFT_FLOOR) for n in view.scaled_size(*(size if turn > 4 else size[::-1])))
    return (tall, wide) if turn > 4 else (wide, tall)


def _shrink(size: tuple[int, int], turn: int, view: View) -> Shrink:
    """How many pixels become one, where there are too many to be kept."""
    if size[0] * size[1] <= WHOLE_PIXELS:
        return (1, 1)
    wanted = _draft(size, turn, view)
    across, down = (min(max(1, n // w), _MOST_SHRINK) for n, w in zip(size, wanted, strict=True))
    # Only where proportions do not count may the one be brought down further than the other.
    shrink = (across, down) if view.fit == "stretch" else (min(across, down),) * 2
    if -(-size[0] // shrink[0]) * -(-size[1] // shrink[1]) > WHOLE_PIXELS:
        raise _not_scaled(size, view)
    return shrink


def _not_scaled(size: tuple[int, int], view: View) -> ImageError:
    wanted = "as it is" if view.size is None else f"at {view.size[0]}×{view.size[1]}"
    why = (
        f"has {size[0]}×{size[1]} pixels. Wanted {wanted} it cannot be scaled down to {WHOLE_PIXELS} pixels "
        "while it is decoded; give the feature a smaller size, or save the picture smaller."
    )
    return ImageError("", "too large", why)


def _fit_to_view(whole: Any, view: View) -> Any:
    """An upright picture as the view wants it."""
    if not view.colour:
        return fit_image(whole if whole.mode == "L" else whole.convert("L"), view)
    # Grey is resized before it becomes three equal channels: the same numbers, a quarter of the memory.
    fitted = fit_image(whole, view)
    return fitted if fitted.mode == "RGB" else fitted.convert("RGB")


def _jpeg(image: Any) -> bytes:
    """A JPEG of the pixels alone: an image that Pillow opened carries its file's comment along."""
    plain, out = Image.new(image.mode, image.size), io.BytesIO()
    plain.paste(image)
    plain.save(out, "JPEG", quality=80)
    return out.getvalue()
