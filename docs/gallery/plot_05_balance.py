"""
Balance of the columns
======================

Standardised differences, raw and weighted.
"""

from unsway import balance, estimate_effects, make_world

people = make_world("adult", 3_000, random_state=0)
X, y, z = people.X, people.y, people.z
b = estimate_effects(X, y, sensitive_features=z).nuisances.propensity
balance(X, sensitive_features=z, propensity=b).plot()
