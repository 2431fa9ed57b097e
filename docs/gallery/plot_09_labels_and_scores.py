"""
Effects on labels and on scores
===============================

Where a model changes them.
"""

from unsway import audit, make_world
from unsway.auditing.plots import plot_effects

people = make_world("adult", 3_000, random_state=0)
X, y, z = people.X, people.y, people.z
found = audit(y, people.fair_score, sensitive_features=z, X=X, n_bootstrap=0)
plot_effects(found.causal)
