"""Photographs that tell more than they show: each place where a file can say something holds the word TELLTALE."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from PIL import Image
from PIL.PngImagePlugin import PngInfo

WORD = "TELLTALE"
MARK = WORD.encode()
PREVIEW = b"\xff\xd8\xff\xe0" + MARK + b" preview\xff\xd9"
UPRIGHT = (48, 30)  # height, width, once turned


def pixels(seed: int, turned: bool = False) -> Image.Image:
    """Dark above, light below (upright); ``turned``: as a camera held on its side stores it (orientation 6)."""
    ramp = np.linspace(20, 230, UPRIGHT[0])[:, None, None] * np.ones((1, UPRIGHT[1], 3))
    noise = np.random.default_rng(seed).normal(0, 8, ramp.shape)
    upright = np.clip(ramp + noise, 0, 255).astype(np.uint8)
    return Image.fromarray(np.rot90(upright, 1) if turned else upright)


def exif(orientation: int = 1) -> Image.Exif:
    """EXIF with a description, a camera, an owner and a place."""
    said = Image.Exif()
    said[0x0112] = orientation
    said[0x010E] = f"{WORD} description"
    said[0x010F] = f"{WORD} camera"
    said.get_ifd(0x8769).update({0xA430: f"{WORD} owner", 0x927C: PREVIEW})
    said.get_ifd(0x8825).update({1: "N", 2: (52.0, 31.0, 12.0), 29: f"{WORD} date", 7: (1.0, 2.0, 3.0)})
    return said


def jpeg(seed: int, orientation: int = 6) -> bytes:
    """A JPEG with everything: EXIF with a preview, XMP, IPTC, a profile, a comment, and a second picture behind it."""
    out = io.BytesIO()
    xmp = f"<x:xmpmeta>{WORD} xmp</x:xmpmeta>".encode()
    profile = b"\0" * 128 + MARK + b" profile"
    pixels(seed, turned=orientation == 6).save(
        out, "JPEG", quality=92, exif=exif(orientation), xmp=xmp, icc_profile=profile, comment=f"{WORD} comment"
    )
    whole = out.getvalue()
    extra = b"".join(
        b"\xff" + bytes([marker]) + (2 + len(said)).to_bytes(2, "big") + said
        for marker, said in (
            (0xED, b"Photoshop 3.0\x008BIM\x04\x04\0\0\0\0" + MARK + b" iptc"),
            (0xE2, b"FPXR\0" + PREVIEW),
            (0xE7, MARK + b" of some maker"),
        )
    )
    return whole[:2] + whole[2:-2].replace(b"\xff\xdb", extra + b"\xff\xdb", 1) + b"\xff\xd9" + PREVIEW


def mpo(seed: int) -> bytes:
    """A JPEG with a second picture behind it that an index (MPF) names, as telephones write previews."""
    out, second = io.BytesIO(), pixels(seed + 1000)
    second.info["comment"] = MARK + b" preview"
    pixels(seed).save(out, "MPO", save_all=True, append_images=[second], exif=exif())
    return out.getvalue()


def png(seed: int) -> bytes:
    out, said = io.BytesIO(), PngInfo()
    for key in ("comment", "Comment", "Author", "Raw profile type exif"):
        said.add_text(key, f"{WORD} text")
    said.add_itxt("XML:com.adobe.xmp", f"{WORD} xmp")
    pixels(seed).save(out, "PNG", pnginfo=said, exif=exif(), icc_profile=b"\0" * 128 + MARK)
    return out.getvalue() + MARK


def webp(seed: int) -> bytes:
    out = io.BytesIO()
    pixels(seed).save(out, "WEBP", exif=exif(), xmp=MARK, icc_profile=b"\0" * 128 + MARK)
    return out.getvalue()


def gif(seed: int) -> bytes:
    out = io.BytesIO()
    pixels(seed).save(out, "GIF", comment=f"{WORD} comment")
    return out.getvalue()


def tiff(seed: int) -> bytes:
    out = io.BytesIO()
    pixels(seed).save(out, "TIFF", description=f"{WORD} description", artist=f"{WORD} artist")
    return out.getvalue()


KINDS = {"jpg": jpeg, "mpo.jpg": mpo, "png": png, "webp": webp, "gif": gif, "tif": tiff}


def telling_folder(where: Path, each: int = 2) -> Path:
    """Two classes, photographs of every kind in each."""
    for number, label in enumerate(("wren", "robin")):
        for kind, made in KINDS.items():
            for i in range(each):
                path = where / label / f"{i}.{kind}"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(made(100 * number + i))
    return where
