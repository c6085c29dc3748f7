"""Special functions in numpy, which define rows of the scalar table up to rounding.

They are not the generated code, whose bits are gnomon/codegen/math.py's.
"""

from __future__ import annotations

import math
from math import lgamma, pi, sqrt

import numpy as np

SERIES_FROM = 8
"""The least argument for the series of digamma in 1 / x²; smaller ones are raised to it."""
DIGAMMA_SERIES = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)


def sigmoid(x: np.ndarray):
    """Compute 1 / (1 + exp(-x)) without overflow."""
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + e), e / (1 + e)).astype(x.dtype)


def erfc(x: np.ndarray):
    """Compute 1 − erf by the C library."""
    return np.vectorize(math.erfc, otypes=[np.float64])(x).astype(np.asarray(x).dtype)


def erf(x: np.ndarray):
    """Compute the error function by the C library."""
    return np.vectorize(math.erf, otypes=[np.float64])(x).astype(np.asarray(x).dtype)


def gelu(x: np.ndarray):
    """Compute x times the probability that a normal number is below it."""
    return (x * 0.5 * erfc(x * -sqrt(0.5))).astype(x.dtype)


def gelu_tanh(x: np.ndarray):
    """Compute gelu with a tanh in place of erf."""
    return (x * sigmoid(2 * sqrt(2 / pi) * (x + 0.044715 * x**3))).astype(x.dtype)


def mish(x: np.ndarray):
    """Compute x · tanh(log(1 + e^x))."""
    return (x * np.tanh(np.logaddexp(0, x))).astype(x.dtype)


def lgamma_of(x: np.ndarray):
    """Compute log |gamma|, which is infinite at the poles."""

    def one(x: float) -> float:
        try:
            return np.inf if x <= 0 and x == np.floor(x) else lgamma(x)
        except OverflowError:
            return np.inf

    return np.vectorize(one, otypes=[np.float64])(x).astype(x.dtype)


def digamma(x: np.ndarray):
    """Compute the derivative of lgamma: steps up and a series; below 1/2, by reflection."""
    wide = np.asarray(x, np.float64)
    below = wide < 0.5
    z, lowered = np.where(below, 1 - wide, wide), np.zeros_like(wide)
    for _ in range(SERIES_FROM):
        near = z < SERIES_FROM
        lowered = lowered + np.where(near, 1 / z, 0)
        z = np.where(near, z + 1, z)
    square, tail = 1 / (z * z), np.zeros_like(z)
    for factor in reversed(DIGAMMA_SERIES):
        tail = (tail + factor) * square
    value = np.log(z) - 0.5 / z - tail - lowered
    rest = wide - np.rint(wide)
    steep = pi / np.tan(np.where(rest == 0, np.nan, rest) * pi)
    found = np.where(below, value - steep, value)
    return np.where(wide == 0, np.copysign(np.inf, -wide), found).astype(np.asarray(x).dtype)
