"""
Where the gap of a score comes from
===================================

Of a blind model: a part is the direct effect, learned through other columns.
"""

import matplotlib.pyplot as plt

from unsway import FairXGBClassifier, estimate_effects, make_world

people = make_world("adult", 3_000, random_state=0)
X, y, z = people.X, people.y, people.z
model = FairXGBClassifier(strength=0, n_jobs=1).fit(X, y, sensitive_features=z)
new = make_world("adult", 3_000, random_state=1)
effects = estimate_effects(new.X, new.y, sensitive_features=new.z)
parts = effects.gap_parts(model.predict_proba(new.X)[:, 1]).estimates()
axis = plt.figure(figsize=(6, 2.8), layout="constrained").subplots()
axis.barh(list(parts), [each.estimate for each in parts.values()], color="#9A4A80")
axis.axvline(0, color="0.5")
axis.invert_yaxis()
axis.set_xlabel("part of the gap, z = 1 minus z = 0")
