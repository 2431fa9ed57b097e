"""The effects of a world, and the integration that gives them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .table import FloatArray

__all__ = ["TrueEffects", "contrasts", "sobol_points"]

#: log2 of the number of points of a quasi-random integral.
LOG2_POINTS = 17


@dataclass(frozen=True, kw_only=True)
class TrueEffects:
    """The effects of z on y in the population, "z=1 minus z=0".

    With m(z,z') = E[E[y|z,X] | Z=z'], the gap between the groups splits into a direct and an
    indirect part, direct_reference + indirect_group = direct_group + indirect_reference. They are
    what an estimate or an audit should recover. Of a label of several classes each is an array with
    a number for each class.

    Parameters
    ----------
    total : float
        E[y|z=1] - E[y|z=0] = m(1,1) - m(0,0).
    direct_reference, direct_group : float
        Natural direct effects on the z=0 and the z=1 population, m(1,z) - m(0,z).
    indirect_reference, indirect_group : float
        Natural indirect effects, m(z,1) - m(z,0).
    explained : float
        (indirect_reference + indirect_group)/2, the gap of the fair score.
    direct_everyone : float
        E[P(y=1|X,1) - P(y=1|X,0)] over the whole population: P(z=0) direct_reference +
        P(z=1) direct_group.

    Examples
    --------
    >>> from unsway.datasets import make_synthetic
    >>> effects = make_synthetic(1, random_state=0).effects
    >>> round(effects.direct_reference + effects.indirect_group, 6), round(effects.explained, 6)
    (0.375364, 0.166075)
    """

    total: float
    direct_reference: float
    direct_group: float
    indirect_reference: float
    indirect_group: float
    explained: float
    direct_everyone: float


def contrasts(means: FloatArray, probability_z: float) -> TrueEffects:
    """Return the effects, which are contrasts of the four means m(z,z').

    Parameters
    ----------
    means : array of shape (2, 2) or (2, 2, C)
        m(z,z') at [z, z'], of each of C classes.
    probability_z : float
        P(z=1).

    Returns
    -------
    TrueEffects

    Examples
    --------
    >>> effects = contrasts(np.array([[0.2, 0.3], [0.3, 0.5]]), 0.25)
    >>> round(effects.direct_reference, 3), round(effects.direct_group, 3)
    (0.1, 0.2)
    >>> round(effects.direct_everyone, 3), round(effects.explained, 3)
    (0.125, 0.15)
    """
    (m00, m01), (m10, m11) = means.tolist() if means.ndim == 2 else means
    on_reference, on_group = m10 - m00, m11 - m01
    at_reference, at_group = m01 - m00, m11 - m10
    return TrueEffects(
        total=m11 - m00,
        direct_reference=on_reference,
        direct_group=on_group,
        indirect_reference=at_reference,
        indirect_group=at_group,
        explained=(at_reference + at_group) / 2,
        direct_everyone=(1 - probability_z) * on_reference + probability_z * on_group,
    )


def sobol_points(n_columns: int, seed: int) -> FloatArray:
    """Return quasi-random points of the unit cube, whose mean is close to an integral over it.

    They are 2^17 points of Sobol's sequence, all moved by one random vector (modulo 1), so that
    another seed tells the error.

    Parameters
    ----------
    n_columns : int
        Dimension of the cube.
    seed : int
        Of the random vector.

    Returns
    -------
    array of shape (2^17, n_columns)
        Strictly between 0 and 1.

    Examples
    --------
    >>> points = sobol_points(2, seed=0)
    >>> print(f"{np.mean(points[:, 0] * points[:, 1]):.5f}")  # 1/4
    0.25000
    """
    from scipy.stats import qmc  # takes a second to import

    points = qmc.Sobol(n_columns, scramble=False).random_base2(LOG2_POINTS)
    shifted = (points + np.random.default_rng(seed).random(n_columns)) % 1.0
    return np.asarray(shifted.clip(1e-12, 1 - 1e-12))
