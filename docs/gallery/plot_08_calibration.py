"""
Calibration of both groups
==========================

A fair score is not calibrated within the groups: it leaves their direct effect out.
"""

from unsway import audit, make_world

people = make_world("adult", 3_000, random_state=0)
X, y, z = people.X, people.y, people.z
found = audit(y, people.fair_score, sensitive_features=z, n_bootstrap=100)
found.calibration.plot()
