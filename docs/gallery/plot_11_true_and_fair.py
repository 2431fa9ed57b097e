"""
Scores of a fair model against the truth
========================================

In a world of known truth.
"""

import matplotlib.pyplot as plt

from unsway import FairXGBClassifier, make_world

people = make_world("adult", 3_000, random_state=0)
X, y, z = people.X, people.y, people.z
model = FairXGBClassifier(n_jobs=1).fit(X, y, sensitive_features=z)
axis = plt.figure(figsize=(4.5, 4), layout="constrained").subplots()
axis.scatter(people.fair_score, model.predict_proba(X)[:, 1], s=4, alpha=0.4)
axis.plot([0, 1], [0, 1], color="0.5")
axis.set(xlabel="fair score", ylabel="score of the model")
