"""One cluster of four Dask worker processes with a thread each, for all tests."""

import uuid

import numpy as np
import pytest
from spread import coarse_people

N_WORKERS = 4


def load_the_library():
    import xgboost

    import unsway.distributed.dask

    return unsway.distributed.dask.__name__, xgboost.__version__


@pytest.fixture(scope="session")
def cluster():
    dask = pytest.importorskip("dask", reason="dask is not installed")
    distributed = pytest.importorskip("distributed", reason="distributed is not installed")
    settings = {"distributed.admin.log-length": 0, "distributed.worker.memory.target": False}
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=N_WORKERS,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            silence_logs=50,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.run(load_the_library)
        yield client


@pytest.fixture
def client(cluster):
    """The client, with all workers there again."""
    cluster.wait_for_workers(N_WORKERS, timeout=60)
    return cluster


@pytest.fixture(scope="session")
def people():
    return coarse_people()


class Spread:
    """Puts rows of arrays on chosen workers, as Dask arrays."""

    def __init__(self, client):
        self.client = client
        self.workers = sorted(client.nthreads())

    def __call__(self, array, cuts, owners):
        """Return an array whose piece k lies on the worker numbered owners[k]."""
        import dask.array as da

        pieces, name = np.split(array, cuts), f"spread-{uuid.uuid4()}"
        graph = {
            (name, k, *[0] * (array.ndim - 1)): self.client.submit(
                np.array, piece, workers=[self.workers[owner]], pure=False
            )
            for k, (piece, owner) in enumerate(zip(pieces, owners, strict=True))
        }
        chunks = (tuple(map(len, pieces)), *((width,) for width in array.shape[1:]))
        return da.Array(graph, name, chunks, dtype=array.dtype)  # concatenate drops empty pieces


@pytest.fixture
def spread(client):
    return Spread(client)
