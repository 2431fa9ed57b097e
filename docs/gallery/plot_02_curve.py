"""
The direct effect by propensity
===============================

With a band that holds the whole curve.
"""

from unsway import effect_curve, make_world

people = make_world("adult", 3_000, random_state=0)
X, y, z = people.X, people.y, people.z
effect_curve(X, y, sensitive_features=z).plot()
