"""
Coefficients by strength
========================

Of a logistic regression, in the paper's world: proxies lose their weight.
"""

import matplotlib.pyplot as plt
import numpy as np

from unsway import FairLogisticRegression, make_synthetic

data = make_synthetic(5_000, random_state=0)
strengths = np.linspace(0, 1, 6)
model = FairLogisticRegression()
path = model.fit_path(data.X, data.y, strengths, sensitive_features=data.z)
axis = plt.figure(figsize=(6, 3.2), layout="constrained").subplots()
axis.plot(strengths, [each.coef_[0] for each in path])
axis.set(xlabel="strength", ylabel="coefficient")
