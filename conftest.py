"""What pytest leaves out where an engine is not installed, and the order and seed of the tests.

`UNSWAY_TEST_SEED=7` runs the files, and the tests within each file, in an order of its own, and
gives every hypothesis test examples of its own. Without it both are the same on each run.
"""

import os
import random
from importlib.util import find_spec

import hypothesis

#: Package → the files whose examples need it.
HOMES = {
    "torch": "src/unsway/models/torch/*.py",
    "jax": "src/unsway/models/jax.py",
    "dask": "src/unsway/distributed/dask.py",
    "pyspark": "src/unsway/distributed/spark.py",
}

collect_ignore_glob = [files for package, files in HOMES.items() if find_spec(package) is None]

SEED = os.environ.get("UNSWAY_TEST_SEED")

# The same examples on each run, none kept from an earlier one, and no clock.
hypothesis.settings.register_profile("repeatable", derandomize=True, deadline=None)
hypothesis.settings.load_profile("repeatable")


def pytest_report_header():
    """Say the seed, so that a failure can be run again."""
    return None if SEED is None else f"UNSWAY_TEST_SEED: {SEED}"


def pytest_collection_modifyitems(items):
    """Put the tests in the order of the seed, and hand it to hypothesis."""
    if SEED is None:
        return
    shuffle(items, int(SEED))
    for item in items:
        function = getattr(item, "function", None)
        if hasattr(function, "hypothesis"):
            hypothesis.seed(int(SEED))(function)


def shuffle(items, seed):
    """Shuffle the files and the tests in each; a file stays whole for the sake of its fixtures."""
    files = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    order = random.Random(seed)  # noqa: S311
    groups = list(files.values())
    order.shuffle(groups)
    for group in groups:
        order.shuffle(group)
    items[:] = [item for group in groups for item in group]
