"""
Two models compared
===================

What is left in each, and the price in log-loss.
"""

import matplotlib.pyplot as plt

from unsway import FairXGBClassifier, compare, make_world

people = make_world("adult", 3_000, random_state=0)
X, y, z = people.X, people.y, people.z
new = make_world("adult", 3_000, random_state=1)
fitted = {
    name: FairXGBClassifier(strength=s, n_jobs=1).fit(X, y, sensitive_features=z)
    for name, s in {"blind": 0, "half": 0.5, "fair": 1}.items()
}
scores = {name: model.predict_proba(new.X)[:, 1] for name, model in fitted.items()}
found = compare(new.y, scores, sensitive_features=new.z, X=new.X, n_bootstrap=20)
axis = plt.figure(figsize=(6, 3), layout="constrained").subplots()
for name, left in found.left.items():
    loss = found.models[name]["log_loss", "overall"].estimate
    axis.errorbar(loss, left.estimate, yerr=1.96 * left.se, fmt="o", capsize=3, label=name)
axis.axhline(0, color="0.5")
axis.set(xlabel="log-loss on the labels", ylabel="direct effect left")
axis.locator_params(nbins=5)
axis.legend()
