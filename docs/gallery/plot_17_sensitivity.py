"""
An unmeasured cause
===================

How strong it would have to be to bring the effect to zero.
"""

import matplotlib.pyplot as plt

from unsway import make_world, sensitivity

people = make_world("adult", 3_000, random_state=0)
X, y, z = people.X, people.y, people.z
found = sensitivity(X, y, sensitive_features=z)
table = found.to_frame().sort_values("estimate").iloc[:8]
axis = plt.figure(figsize=(6, 3), layout="constrained").subplots()
axis.errorbar(
    table["estimate"],
    range(len(table)),
    xerr=[table["estimate"] - table["low"], table["high"] - table["estimate"]],
    fmt="o",
)
axis.axvline(0, color="0.5")
axis.set_yticks(range(len(table)), table["benchmark"])
axis.set_xlabel("effect, if a cause as strong as this column were missing")
