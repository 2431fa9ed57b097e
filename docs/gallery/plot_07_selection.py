"""
Selection rates by threshold
============================

Of both groups, with intervals.
"""

from unsway import audit, make_world

people = make_world("adult", 3_000, random_state=0)
X, y, z = people.X, people.y, people.z
found = audit(
    y,
    people.fair_score,
    sensitive_features=z,
    threshold=[0.1, 0.2, 0.3, 0.4, 0.5, 0.6],
    n_bootstrap=100,
)
found.plot()
