"""
Effects of the sensitive attribute
==================================

Total, direct and indirect effects with their intervals.
"""

from unsway import estimate_effects, make_world

people = make_world("adult", 3_000, random_state=0)
X, y, z = people.X, people.y, people.z
estimate_effects(X, y, sensitive_features=z).plot()
