"""
A frontier
==========

What each strength leaves of the direct effect, and what it costs.
"""

from unsway import FairLogisticRegression, frontier, make_synthetic

people, new = make_synthetic(4_000, random_state=0), make_synthetic(4_000, random_state=1)
found = frontier(
    FairLogisticRegression(),
    people.X,
    people.y,
    sensitive_features=people.z,
    strengths=[0, 0.2, 0.4, 0.6, 0.8, 1],
    test_set=(new.X, new.y, new.z),
    effects={"max_extreme_share": 1},
)
found.plot(choice=found.select(max_accuracy_loss=0.03))
