"""
What a fair model uses
======================

Shares of what all splits gained.
"""

import matplotlib.pyplot as plt

from unsway import FairXGBClassifier, make_world

people = make_world("adult", 3_000, random_state=0)
X, y, z = people.X, people.y, people.z
table = FairXGBClassifier(n_jobs=1).fit(X, y, sensitive_features=z).summary().to_frame()
axis = plt.figure(figsize=(6, 3), layout="constrained").subplots()
axis.barh(table["column"][:10][::-1], table["importance"][:10][::-1])
axis.set_xlabel("importance")
