"""Kernels: inner products in the space where a query is represented (paper, section "Formulation of KCRC").

Vector kernels are functions of a·b and the norms; two rules turn any distance into a kernel; others are given.
``gamma`` and the paper's β: RBF exp(−β‖a−b‖²) has gamma = β; exp(−Dist/β²) has gamma = 1/β².
"""

from __future__ import annotations

from collections.abc import Callable

from kcrc._base.arrays import Array
from kcrc.method.distances.base import Distance
from kcrc.method.kernels.base import Kernel, exp_of, make, names, register, registry
from kcrc.method.kernels.given import CallableKernel, PrecomputedKernel
from kcrc.method.kernels.of_distance import DistanceKernel, Exponential, KernelDistance, Polarisation
from kcrc.method.kernels.vector import RBF, Linear, Polynomial, Shape, VectorKernel

__all__ = [
    "RBF",
    "CallableKernel",
    "DistanceKernel",
    "Exponential",
    "Kernel",
    "KernelDistance",
    "Linear",
    "Polarisation",
    "Polynomial",
    "PrecomputedKernel",
    "Shape",
    "VectorKernel",
    "exp_of",
    "make",
    "names",
    "register",
    "registry",
    "resolve",
]


def resolve(
    spec: str | Kernel | Callable[[Array, Array], Array],
    *,
    distance: Distance,
    gamma: float,
    degree: int,
    coef0: float,
) -> Kernel:
    """A name, a Kernel, or a function of two sets of vectors -> a Kernel.

    Parameters
    ----------
    spec : str, Kernel or callable
        A name, a kernel, or a function of two sets.
    distance : Distance
        Of which "exp" and "polarisation" make a kernel.
    gamma : float
        The width, for kernels that have one.
    degree : int
        Of the polynomial kernel.
    coef0 : float
        Its constant.

    Returns
    -------
    Kernel
        The kernel.

    Raises
    ------
    UnknownName
        Where there is no such name.
    ParameterError
        Where it is nothing of the kind.

    Examples
    --------
    >>> from kcrc import distances, kernels
    >>> kernels.resolve("rbf", distance=distances.make("euclidean"), gamma=0.5, degree=3, coef0=1.0)
    RBF(gamma=0.5)
    """
    every = {"distance": distance, "gamma": gamma, "degree": degree, "coef0": coef0}
    fields = getattr(registry.maker(spec), "__dataclass_fields__", {}) if isinstance(spec, str) else {}
    options = {name: every[name] for name in fields if name in every}
    return registry.resolve(spec, Kernel, from_function=CallableKernel, function="a function of two sets", **options)
