"""
Losses by round
===============

What early stopping sees.
"""

import matplotlib.pyplot as plt

from unsway import FairXGBClassifier, make_world

people = make_world("adult", 3_000, random_state=0)
X, y, z = people.X, people.y, people.z
model = FairXGBClassifier(n_jobs=1).fit(X, y, sensitive_features=z)
axis = plt.figure(figsize=(6, 3), layout="constrained").subplots()
for name, values in model.evals_result_["validation"].items():
    axis.plot(values, label=name.replace("_", " "))
axis.axvline(model.best_iteration_, color="0.5")
axis.set(xlabel="round", ylabel="loss on held-out rows")
axis.legend()
