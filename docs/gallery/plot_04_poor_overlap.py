"""
Poor overlap
============

The columns nearly determine the group: an estimate would extrapolate.
"""

from unsway import make_world, overlap

poor = make_world("poor_overlap", 3_000, random_state=0)
overlap(poor.propensity, sensitive_features=poor.z).plot()
