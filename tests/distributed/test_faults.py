"""Workers that die, and training that goes on."""

import json
import os
import signal
import time

import pytest
from spread import QUICK, quick_model

from unsway import Parity, Schedule
from unsway.distributed import Faults, Part, cluster, fit_here
from unsway.distributed.checkpoint import FILE_NAMES
from unsway.distributed.dask import FairDaskXGBClassifier, WorkerLostError

pytestmark = pytest.mark.xdist_group("cluster")

LONG = {
    **QUICK,
    "schedule": Schedule(ramp_steps=20, pretrain_patience=200, patience=150, max_steps=300),
}


class StoppedError(Exception):
    pass


def stop_at(number):
    def stop(step):
        if step.number == number:
            raise StoppedError

    return stop


@pytest.mark.parametrize("criterion", ["direct effect", "fair target"])
@pytest.mark.parametrize("stop", [6, 13])
def test_a_run_that_was_stopped_goes_on_to_the_same_model(criterion, stop, people, tmp_path):
    faults, part = Faults(tmp_path, every=5), Part(*people)
    whole = fit_here(quick_model(criterion), part)
    with pytest.raises(StoppedError):
        fit_here(
            quick_model(criterion, callback=stop_at(stop)),
            part,
            faults=faults,
        )
    told = []
    model = fit_here(quick_model(criterion, callback=told.append), part, faults=faults)
    assert model.resumed_at_ == stop // 5 * 5
    assert told[0].number == model.resumed_at_ + 1
    assert model.n_rounds_ == whole.n_rounds_
    assert model.best_iteration_ == whole.best_iteration_
    history = model.evals_result_["validation"]["log_loss"]
    assert history == pytest.approx(whole.evals_result_["validation"]["log_loss"], abs=1e-6)
    X = people[0]
    assert abs(model.predict_proba(X) - whole.predict_proba(X)).max() < 1e-6
    assert not (tmp_path / FILE_NAMES[0]).exists()


def test_a_checkpoint_of_another_run_is_refused(people, tmp_path):
    faults, part = Faults(tmp_path, every=5), Part(*people)
    with pytest.raises(StoppedError):
        fit_here(quick_model("parity", callback=stop_at(7)), part, faults=faults)
    with pytest.raises(ValueError, match=f"other rows or settings; remove {FILE_NAMES[0]}"):
        fit_here(quick_model("parity", strength=0.5), part, faults=faults)
    X, y, z = people
    with pytest.raises(ValueError, match="other rows or settings"):
        fit_here(quick_model("parity"), Part(X + 1, y, z), faults=faults)


def test_a_checkpoint_holds_sums_and_trees_alone(people, tmp_path):
    with pytest.raises(StoppedError):
        fit_here(
            quick_model("parity", callback=stop_at(7)), Part(*people), faults=Faults(tmp_path, 5)
        )
    head, _, booster = (tmp_path / FILE_NAMES[0]).read_bytes().partition(b"\n")
    state = json.loads(head)
    assert state["rounds"] == 5
    assert max(len(series) for series in state["history"]["validation"].values()) == 5
    assert len(head) < 5_000
    assert booster[:1] == b"{"  # universal binary JSON


def test_missing_rows_are_noticed(people):
    with pytest.raises(RuntimeError, match="4000 rows together but the table has 4001"):
        fit_here(quick_model("parity"), Part(*people), faults=Faults(n_rows=4_001))


class Killer:
    """Kills a worker that takes part, in round five, once."""

    def __init__(self, client):
        self.client = client
        self.pids = client.run(os.getpid)
        self.when = None

    def __call__(self, step):
        if step.number >= 5 and self.when is None:
            self.when = time.monotonic()
            busy = [worker for worker, tasks in self.client.processing().items() if tasks]
            os.kill(self.pids[busy[-1]], signal.SIGKILL)


def collections(people, spread):
    import dask.array as da

    chunks = (1_000, 500, 1_000, 1_500)
    X, y, z = people
    return da.from_array(X, chunks=(chunks, -1)), *(
        da.from_array(a, chunks=(chunks,)) for a in (y, z)
    )


def test_a_callback_that_fails_leaves_the_workers_as_they_are(people, client, spread):
    X, y, z = collections(people, spread)
    before = set(client.nthreads())
    model = FairDaskXGBClassifier(Parity(), callback=stop_at(3), **LONG)
    with pytest.raises(StoppedError):
        model.fit(X, y, sensitive_features=z)
    assert set(client.nthreads()) == before


def test_a_worker_left_waiting_is_restarted(client, monkeypatch):
    monkeypatch.setattr(cluster, "_GRACE_SECONDS", 1.0)
    waiting, free = sorted(client.nthreads())[:2]
    tasks = {
        waiting: client.submit(time.sleep, 300, workers=[waiting], pure=False),
        free: client.submit(int, workers=[free], pure=False),
    }
    tasks[free].result()
    start = time.monotonic()
    cluster.free_workers(client, tasks)
    client.cancel(list(tasks.values()))
    assert time.monotonic() - start < 60
    assert free in client.nthreads()
    assert waiting not in client.nthreads()


def test_a_worker_that_is_killed_ends_the_training_with_a_reason(people, client, spread):
    X, y, z = collections(people, spread)
    killer = Killer(client)
    model = FairDaskXGBClassifier(Parity(), callback=killer, **LONG)
    with pytest.raises(WorkerLostError, match=r"1 of \d Dask workers left .* checkpoint=folder"):
        model.fit(X, y, sensitive_features=z)
    assert time.monotonic() - killer.when < 60
    assert not hasattr(model, "model_")


def test_a_worker_that_is_killed_changes_nothing_where_there_is_a_checkpoint(
    people, client, spread, tmp_path
):
    X, y, z = collections(people, spread)
    killer = Killer(client)
    model = FairDaskXGBClassifier(
        Parity(), callback=killer, checkpoint=tmp_path, checkpoint_every=2, **LONG
    )
    model.fit(X, y, sensitive_features=z)
    assert model.n_restarts_ == 1
    assert model.resumed_at_ >= 4
    assert model.n_rows_ == len(people[0])
    undisturbed = fit_here(quick_model("parity", **LONG), Part(*people))
    assert model.n_rounds_ == undisturbed.n_rounds_
    assert abs(model.predict_proba(people[0]) - undisturbed.predict_proba(people[0])).max() < 1e-6
