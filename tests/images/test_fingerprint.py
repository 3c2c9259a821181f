"""A picture keeps its fingerprint in another size and after another compression; another picture has another one."""

from __future__ import annotations

import io

import numpy as np
import pytest
from photos import shapes
from PIL import Image
from scipy.fft import dct

from kcrc.images.decoding.reading import decode
from kcrc.images.look_alikes import fingerprint


def stored(picture: Image.Image, **options) -> np.ndarray:
    out = io.BytesIO()
    picture.save(out, "JPEG", **options)
    return decode(out.getvalue()).pixels


def differing(a, b) -> int:
    return (a.bits ^ b.bits).bit_count()


@pytest.mark.parametrize("seed", range(6))
def test_size_and_compression_change_little(seed):
    whole = shapes(seed)
    first = fingerprint(stored(whole, quality=90))
    half = fingerprint(stored(whole.resize((whole.width // 2, whole.height // 2)), quality=90))
    rough = fingerprint(stored(whole, quality=20))
    grey = fingerprint(stored(whole.convert("L"), quality=90))
    other = fingerprint(stored(shapes(seed + 100), quality=90))
    assert all(differing(first, one) <= 4 for one in (half, rough, grey))
    assert all(first.small @ one.small > 0.99 for one in (half, rough, grey))
    assert differing(first, other) > 12


def test_the_bits_are_those_of_the_cosine_transform_written_out():
    pixels = np.random.default_rng(0).integers(0, 256, (64, 96), dtype=np.uint8)
    shrunk = pixels.reshape(32, 2, 32, 3).mean(axis=(1, 3))
    low = dct(dct(shrunk, axis=0), axis=1)[:8, :8].ravel()[1:]  # another scale of axes: signs about the median change
    scale = np.full((8, 8), 1.0)
    scale[0] /= np.sqrt(2)
    scale[:, 0] /= np.sqrt(2)
    low = low * scale.ravel()[1:]
    bits = [False, *(low > np.median(low))]
    assert fingerprint(pixels).bits == int("".join("1" if bit else "0" for bit in bits), 2)


@pytest.mark.parametrize("shape", [(1, 1), (5, 300), (40, 40, 3)])
def test_one_colour_has_none_and_any_size_will_do(shape):
    assert fingerprint(np.full(shape, 200, np.uint8)) is None
    noisy = np.random.default_rng(1).integers(0, 256, shape, dtype=np.uint8)
    assert (fingerprint(noisy) is None) == (shape == (1, 1))
