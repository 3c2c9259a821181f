"""Texture distances: χ² of texton histograms (Leung and Malik 2001) and the marginal distance (Levina 2002).

Both compare how the responses to a bank of filters (``filter_bank``) are distributed over an image. Textons stand for
the joint distribution: the responses at a pixel are a point, k-means on the examples finds the frequent points, the
textons, and an image is the histogram of its pixels' nearest textons. The marginal distance looks at each filter
alone: an image is one histogram of responses a filter, and their distances are summed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import ClassVar, Self

import numpy as np
from scipy import fft

from kcrc._base.arrays import Array
from kcrc.errors import ParameterError, StateError
from kcrc.method.distances.base import register
from kcrc.method.distances.grey_images import check_size, spread
from kcrc.method.distances.regions import HistogramImageDistance, checked_grid, region_of_pixels, regional_histograms
from kcrc.method.preparation import Prepared

# The filter bank of the texture distances, after Leung and Malik (2001), and its responses.
#
# At each scale σ of ``scales`` (pixels) there are, for each of ``orientations`` directions θ = πk/orientations, two
# filters made of a Gaussian of width σ across and ``elongation``·σ along the direction:
#
#     edge  G'(v; σ) G(u; elongation·σ)      u =  x cos θ + y sin θ  (along)
#     bar   G''(v; σ) G(u; elongation·σ)     v = −x sin θ + y cos θ  (across)
#
# then a spot (the Laplacian of a Gaussian of width σ) and a Gaussian of width σ. All are cut at three widths; edges,
# bars and spots have mean 0; each is scaled so that its absolute values sum to 1. The default has
# 2 scales × (6 edges + 6 bars + spot + Gaussian) = 28 filters. Images are first brought to mean 0 and deviation 1, so
# brightness and contrast do not matter, and continue beyond the border by reflection.


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
        padded = np.pad(standardise(images), ((0, 0), (margin, margin), (margin, margin)), mode="symmetric")
        shape = tuple(fft.next_fast_len(side, real=True) for side in padded.shape[1:])
        spectrum = _spectrum(self, shape, images.dtype.char)
        whole = fft.irfft2(fft.rfft2(padded, shape)[:, None] * spectrum, shape)
        return np.asarray(whole[..., 2 * margin : 2 * margin + height, 2 * margin : 2 * margin + width])


def standardise(images: Array) -> Array:
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
                    _normalise(shape * _gaussian(across, sigma) * _gaussian(along, long), inside, zero_mean=True)
                )
        distance = np.hypot(x, y)
        inside = distance <= 3 * sigma
        kernels.append(_normalise((distance**2 - 2 * sigma**2) * _gaussian(distance, sigma), inside, zero_mean=True))
        kernels.append(_normalise(_gaussian(distance, sigma), inside, zero_mean=False))
    bank_of = np.stack(kernels)
    bank_of.setflags(write=False)
    return bank_of


def _gaussian(t: Array, sigma: float) -> Array:
    return np.exp(-0.5 * (t / sigma) ** 2)


def _normalise(kernel: Array, inside: Array, *, zero_mean: bool) -> Array:
    kernel = np.where(inside, kernel, 0.0)
    if zero_mean:
        kernel = np.where(inside, kernel - kernel[inside].mean(), 0.0)
    return np.asarray(kernel / np.abs(kernel).sum())


@lru_cache(maxsize=8)
def _spectrum(bank: FilterBank, shape: tuple[int, int], dtype: str) -> Array:
    return np.asarray(fft.rfft2(bank.kernels().astype(dtype), shape))


_STEP = 1e-4  # responses nearer than this are the same: flat image parts must not be told apart by rounding


@dataclass(frozen=True, kw_only=True)
class FilteredImageDistance(HistogramImageDistance):
    """χ² between histograms of filter responses.

    ``scales``, ``orientations`` and ``elongation`` choose the filters; ``n_samples`` pixels of the examples, drawn
    with ``seed``, show how the responses are distributed; ``grid`` = (rows, columns) has a histogram a region.
    The responses of a constant image are 0 everywhere: constant images are at distance 0 from each other.
    """

    scales: tuple[float, ...] = (1.0, 2.0)
    orientations: int = 6
    elongation: float = 3.0
    grid: tuple[int, int] = (1, 1)
    n_samples: int = 20_000
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "scales", tuple(float(s) for s in np.ravel(self.scales)))
        object.__setattr__(self, "grid", checked_grid(self.grid, name="grid"))
        self._whole("n_samples", at_least=1)
        self._whole("seed", at_least=0)
        _ = self.bank

    def _whole(self, name: str, *, at_least: int) -> None:
        value = getattr(self, name)
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < at_least:
            raise ParameterError(f"{name} is a whole number, {at_least} or more; got {value!r}.")

    @property
    def bank(self) -> FilterBank:
        return FilterBank(self.scales, self.orientations, self.elongation)

    def sampled_responses(self, X: Array) -> Array:
        """Responses (m, F) at pixels drawn evenly from the examples, m at most ``n_samples`` (or one an image)."""
        rng = np.random.default_rng(self.seed)
        if len(X) > self.n_samples:
            X = X[np.sort(rng.choice(len(X), self.n_samples, replace=False))]
        drawn = []
        for _, images in self.chunks(X, maps=2 * len(self.bank)):
            pixels = self.bank.responses(images).reshape(len(images), len(self.bank), -1)
            count = min(max(1, self.n_samples // len(X)), pixels.shape[2])
            where = rng.permuted(np.tile(np.arange(pixels.shape[2]), (len(images), 1)), axis=1)[:, :count]
            drawn.append(
                np.take_along_axis(pixels, where[:, None, :], axis=2).transpose(0, 2, 1).reshape(-1, len(self.bank))
            )
        return np.concatenate(drawn).astype(np.float64)


@register("texton-chi2")
@dataclass(frozen=True, kw_only=True)
class TextonChi2(FilteredImageDistance):
    """χ² between histograms of textons: ``n_textons`` k-means centres of the examples' filter responses.

    From 0 to 2 a region. Fewer distinct responses than ``n_textons`` make fewer textons.
    """

    formula: ClassVar[str] = "Σ_t (a_t − b_t)² / (a_t + b_t), a and b histograms of the nearest texton of each pixel"

    n_textons: int = 64
    textons: Array | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._whole("n_textons", at_least=1)

    def fit(self, X: Array, y: Array, *, sample_shape: tuple[int, ...]) -> Self:
        from sklearn.cluster import KMeans  # only where textons are learned: it takes a while to load

        shaped = super().fit(X, y, sample_shape=sample_shape)
        points = shaped.sampled_responses(X)
        distinct = len(np.unique(np.round(points / _STEP), axis=0))
        means = KMeans(min(self.n_textons, distinct), n_init=1, max_iter=100, random_state=self.seed).fit(points)
        return replace(shaped, textons=means.cluster_centers_)

    def prepare(self, X: Array) -> Prepared:
        if self.textons is None:
            raise StateError("The texton distance needs fit(X, y) to learn its textons before it can prepare samples.")
        parts = []
        for _, images in self.chunks(X, maps=2 * len(self.bank)):
            textons = self.textons.astype(images.dtype)
            responses = self.bank.responses(images)
            # ‖r − t‖² less ‖r‖², which is the same for every texton.
            scores = np.einsum("tf,tf->t", textons, textons)[:, None] - 2 * np.einsum(
                "tf,nfp->ntp", textons, responses.reshape(*responses.shape[:2], -1), optimize=True
            )
            labels = scores.argmin(axis=1).reshape(images.shape)
            regions = region_of_pixels(images.shape[1], images.shape[2], self.grid)
            parts.append(regional_histograms(labels, regions, len(textons), images.dtype.type))
        return self.as_rows(np.concatenate(parts))


@register("marginal")
@dataclass(frozen=True, kw_only=True)
class Marginal(FilteredImageDistance):
    """Sum over filters of the χ² between histograms of that filter's responses.

    ``n_bins`` bins a filter hold equally many responses of the examples. From 0 to 2 a filter and region.
    """

    formula: ClassVar[str] = (
        "Σ_f Σ_i (a_fi − b_fi)² / (a_fi + b_fi), a_f and b_f histograms of the responses to filter f"
    )

    n_bins: int = 16
    edges: Array | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._whole("n_bins", at_least=2)

    def fit(self, X: Array, y: Array, *, sample_shape: tuple[int, ...]) -> Self:
        shaped = super().fit(X, y, sample_shape=sample_shape)
        inner = np.arange(1, self.n_bins) / self.n_bins
        quantiles = np.quantile(shaped.sampled_responses(X), inner, axis=0).T
        # Half a step off, so that the response 0 of flat parts, up to rounding, does not lie on an edge.
        return replace(shaped, edges=(np.round(quantiles / _STEP) + 0.5) * _STEP)

    def prepare(self, X: Array) -> Prepared:
        if self.edges is None:
            raise StateError("The marginal distance needs fit(X, y) to learn its bins before it can prepare samples.")
        parts = []
        for _, images in self.chunks(X, maps=2 * len(self.bank)):
            responses = self.bank.responses(images)
            regions = region_of_pixels(images.shape[1], images.shape[2], self.grid)
            histograms = [
                regional_histograms(np.searchsorted(edges, responses[:, f]), regions, self.n_bins, images.dtype.type)
                for f, edges in enumerate(self.edges)
            ]
            parts.append(np.stack(histograms, axis=1))
        return self.as_rows(np.concatenate(parts))
