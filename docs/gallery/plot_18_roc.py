"""
ROC curves of both groups
=========================

Of the same score.
"""

import matplotlib.pyplot as plt

from unsway import make_world, roc_by_group

people = make_world("adult", 3_000, random_state=0)
X, y, z = people.X, people.y, people.z
axis = plt.figure(figsize=(4.5, 4), layout="constrained").subplots()
roc_by_group(y, people.fair_score, sensitive_features=z).plot(ax=axis)
