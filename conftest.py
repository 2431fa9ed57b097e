"""What pytest leaves out where an engine is not installed: the examples in its own files."""

from importlib.util import find_spec

#: Package → the files whose examples need it.
HOMES = {
    "torch": "src/unsway/models/torch/*.py",
    "jax": "src/unsway/models/jax.py",
    "dask": "src/unsway/distributed/dask.py",
    "pyspark": "src/unsway/distributed/spark.py",
}

collect_ignore_glob = [files for package, files in HOMES.items() if find_spec(package) is None]
