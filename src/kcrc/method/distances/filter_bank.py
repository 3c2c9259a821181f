"""The filter bank of the texture distances, after Leung and Malik (2001), and its responses.

At each scale σ of ``scales`` (pixels) there are, for each of ``orientations`` directions θ = πk/orientations, two
filters made of a Gaussian of width σ across and ``elongation``·σ along the direction:

    edge  G'(v; σ) G(u; elongation·σ)      u =  x cos θ + y sin θ  (along)
    bar   G''(v; σ) G(u; elongation·σ)     v = −x sin θ + y cos θ  (across)

then a spot (the Laplacian of a Gaussian of width σ) and a Gaussian of width σ. All are cut at three widths; edges,
bars and spots have mean 0; each is scaled so that its absolute values sum to 1. The default has
2 scales × (6 edges + 6 bars + spot + Gaussian) = 28 filters. Images are first brought to mean 0 and deviation 1, so
brightness and contrast do not matter, and continue beyond the border by reflection.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import fft

from kcrc._base.arrays import Array
from kcrc.errors import ParameterError
from kcrc.method.distances.grey_images import check_size, spread


@dataclass(frozen=True)
class FilterBank:
    """Which filters: widths in pixels, number of directions, length over width."""

    scales: tuple[float, ...] = (1.0, 2.0)
    orientations: int = 6
    elongation: float = 3.0

    def __post_init__(self) -> None:
        if not self.scales or not all(0 < s < np.inf for s in self.scales):
            raise ParameterError(f"scales are widths in pixels above 0, at least one; got {self.scales!r}.")
        if not isinstance(self.orientations, (int, np.integer)) or self.orientations < 1:
            raise ParameterError(f"orientations is a whole number, 1 or more; got {self.orientations!r}.")
        if not 1 <= self.elongation < np.inf:
            raise ParameterError(f"elongation is a number, 1 or more; got {self.elongation!r}.")
        side = 6.0 * self.elongation * max(self.scales) + 1
        check_size("The filters", len(self) * side * side)

    def __len__(self) -> int:
        return len(self.scales) * (2 * self.orientations + 2)

    @property
    def radius(self) -> int:
        return int(np.ceil(3 * self.elongation * max(self.scales)))

    def kernels(self) -> Array:
        """The filters (F, 2r+1, 2r+1)."""
        return _kernels(self)

    def responses(self, images: Array) -> Array:
        """Responses (n, F, h, w), by convolution, of grey images (n, h, w) brought to mean 0 and deviation 1."""
        height, width = images.shape[1:]
        margin = self.radius
        padded = np.pad(standardised(images), ((0, 0), (margin, margin), (margin, margin)), mode="symmetric")
        shape = tuple(fft.next_fast_len(side, real=True) for side in padded.shape[1:])
        spectrum = _spectrum(self, shape, images.dtype.char)
        whole = fft.irfft2(fft.rfft2(padded, shape)[:, None] * spectrum, shape)
        return np.asarray(whole[..., 2 * margin : 2 * margin + height, 2 * margin : 2 * margin + width])


def standardised(images: Array) -> Array:
    """Each image with mean 0 and standard deviation 1; a constant image becomes 0."""
    centred = images - images.mean(axis=(1, 2), keepdims=True)
    deviation = np.sqrt(np.mean(centred * centred, axis=(1, 2), keepdims=True))
    varied = spread(images)[1] > 0
    return np.asarray(np.divide(centred, deviation, out=np.zeros_like(centred), where=varied))


@lru_cache(maxsize=8)
def _kernels(bank: FilterBank) -> Array:
    reach = np.arange(-bank.radius, bank.radius + 1.0)
    y, x = np.meshgrid(reach, reach, indexing="ij")
    kernels = []
    for sigma in bank.scales:
        for order in (1, 2):
            for k in range(bank.orientations):
                angle = np.pi * k / bank.orientations
                along, across = x * np.cos(angle) + y * np.sin(angle), -x * np.sin(angle) + y * np.cos(angle)
                long = bank.elongation * sigma
                shape = -across if order == 1 else across**2 - sigma**2
                inside = (np.abs(along) <= 3 * long) & (np.abs(across) <= 3 * sigma)
                kernels.append(
                    _scaled(shape * _gaussian(across, sigma) * _gaussian(along, long), inside, zero_mean=True)
                )
        distance = np.hypot(x, y)
        inside = distance <= 3 * sigma
        kernels.append(_scaled((distance**2 - 2 * sigma**2) * _gaussian(distance, sigma), inside, zero_mean=True))
        kernels.append(_scaled(_gaussian(distance, sigma), inside, zero_mean=False))
    bank_of = np.stack(kernels)
    bank_of.setflags(write=False)
    return bank_of


def _gaussian(t: Array, sigma: float) -> Array:
    return np.exp(-0.5 * (t / sigma) ** 2)


def _scaled(kernel: Array, inside: Array, *, zero_mean: bool) -> Array:
    kernel = np.where(inside, kernel, 0.0)
    if zero_mean:
        kernel = np.where(inside, kernel - kernel[inside].mean(), 0.0)
    return np.asarray(kernel / np.abs(kernel).sum())


@lru_cache(maxsize=8)
def _spectrum(bank: FilterBank, shape: tuple[int, int], dtype: str) -> Array:
    return np.asarray(fft.rfft2(bank.kernels().astype(dtype), shape))
