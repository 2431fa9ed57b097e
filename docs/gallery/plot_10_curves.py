"""
Curves of labels and scores
===========================

The direct effect by propensity, before and after.
"""

from unsway import audit, make_world
from unsway.auditing.plots import plot_curves

people = make_world("adult", 3_000, random_state=0)
X, y, z = people.X, people.y, people.z
found = audit(y, people.fair_score, sensitive_features=z, X=X, n_bootstrap=0)
plot_curves(found.causal)
