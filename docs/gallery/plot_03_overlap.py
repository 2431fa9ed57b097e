"""
Overlap of the groups
=====================

Propensities of both groups: where they overlap, people can be compared.
"""

from unsway import estimate_effects, make_world

people = make_world("adult", 3_000, random_state=0)
X, y, z = people.X, people.y, people.z
estimate_effects(X, y, sensitive_features=z).overlap.plot()
