"""Berkeley's admissions of 1973: a gap that turns around once the department is held fixed."""

from __future__ import annotations

import numpy as np

from .table import TabularData, as_words

__all__ = ["load_berkeley"]

#: Department → men admitted, men rejected, women admitted, women rejected.
_COUNTS = {
    "A": (512, 313, 89, 19),
    "B": (353, 207, 17, 8),
    "C": (120, 205, 202, 391),
    "D": (138, 279, 131, 244),
    "E": (53, 138, 94, 299),
    "F": (22, 351, 24, 317),
}


def load_berkeley() -> TabularData:
    """Load the applicants to Berkeley's six largest departments; y = 1 is admitted, z = 1 a woman.

    Women were admitted less often than men by .1416, yet at the men's mix of departments they
    would have been admitted more often by .0710: they applied where few are taken.

    Returns
    -------
    TabularData
        24 rows, one per department, sex and outcome; `sample_weight` holds how many of the 4526
        applicants each stands for. With these weights every average is that over the applicants,
        so effects can be checked by hand. The one feature is `Dept`. To get a row per applicant,
        repeat the rows: ``np.repeat(data.y, data.sample_weight.astype(int))``.

    Notes
    -----
    The counts are published facts, the same as R's ``datasets::UCBAdmissions``.

    References
    ----------
    Bickel, Hammel & O'Connell (1975), Sex bias in graduate admissions: data from Berkeley,
    Science 187, 398-404.

    Examples
    --------
    >>> data = load_berkeley()
    >>> women, men = data.sample_weight * data.z, data.sample_weight * (1 - data.z)
    >>> gap = np.average(data.y, weights=women) - np.average(data.y, weights=men)
    >>> print(f"{gap:.6f}")
    -0.141645
    """
    departments = tuple(_COUNTS)
    return TabularData(
        name="berkeley",
        columns={"Dept": as_words(np.repeat(departments, 4).tolist())},
        levels={"Dept": departments},
        y=np.tile([1, 0, 1, 0], len(departments)).astype(np.int64),
        z=np.tile([0, 0, 1, 1], len(departments)).astype(np.int64),
        target="Admit",
        positive_target="Admitted",
        sensitive="Gender",
        positive_sensitive="Female",
        sample_weight=np.array([*_COUNTS.values()], dtype=np.float64).ravel(),
    )
