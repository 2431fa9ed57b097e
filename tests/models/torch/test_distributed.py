"""Processes that share the sums of the statistics train as one with the joined batch."""

import socket

import numpy as np
import pytest
from contracts import direct_effect, make_people, objective_of, penalty_of

torch = pytest.importorskip("torch")

from unsway.models.torch import FairLoss  # noqa: E402

pytestmark = pytest.mark.skipif(
    not (torch.distributed.is_available() and torch.distributed.is_gloo_available()),
    reason="this PyTorch has no gloo",
)
STEPS, SIZE = 8, 20
PEOPLE = make_people(120, seed=5)


def objective():
    return objective_of(penalty_of(direct_effect(2, 1), PEOPLE), PEOPLE.y, 0.9)


def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(2, 4, dtype=torch.float64), torch.nn.Tanh(),
        torch.nn.Linear(4, 1, dtype=torch.float64),
    )  # fmt: skip


def batches():
    """Return the rows of each step: half of them of the first process, which has the first 60."""
    rng = np.random.default_rng(0)
    halves = [[60 * k + rng.permutation(60)[: SIZE // 2] for k in range(2)] for _ in range(STEPS)]
    return [np.concatenate(pair) for pair in halves]


def train(model, parts):
    """Return every gradient of a training in which a step sees these parts of its batch."""
    loss, gradients = FairLoss(objective()), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    X, y = torch.as_tensor(PEOPLE.X), torch.as_tensor(PEOPLE.y)
    for rows in batches():
        part = torch.as_tensor(rows[parts])
        optimizer.zero_grad()
        loss(model(X[part]), y[part], part).backward()
        gradients.append(torch.cat([each.grad.flatten() for each in model.parameters()]))
        optimizer.step()
    return torch.stack(gradients), loss.running.sums


def one_process(rank, port, results):
    torch.set_num_threads(1)
    torch.distributed.init_process_group(
        "gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2
    )
    half = SIZE // 2
    model = torch.nn.parallel.DistributedDataParallel(network())
    gradients, sums = train(model, slice(rank * half, (rank + 1) * half))
    results.put((rank, gradients.tolist(), sums.tolist()))
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.mark.slow  # two fresh interpreters
def test_two_processes_have_the_gradients_of_one_with_the_joined_batch():
    context = torch.multiprocessing.get_context("spawn")
    results, port = context.SimpleQueue(), free_port()
    workers = [context.Process(target=one_process, args=(k, port, results)) for k in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0]
    expected, _ = train(network(), slice(None))
    assert expected.abs().min(dim=1).values.max() > 1e-5
    for _ in workers:
        _, gradients, _ = results.get()
        np.testing.assert_allclose(gradients, expected.numpy(), rtol=0, atol=1e-6)


def test_a_sum_of_ones_own_takes_the_place_of_the_process_group():
    seen = []

    def reduce(tensor):
        seen.append(tuple(tensor.shape))
        return tensor

    loss = FairLoss(objective(), reduce=reduce)
    plain = FairLoss(objective())
    margin, y = torch.as_tensor(PEOPLE.margin), torch.as_tensor(PEOPLE.y)
    assert loss(margin, y).item() == plain(margin, y).item()
    loss.eval()(margin, y)
    assert seen == [(len(objective().penalty.names) + 1, 4)]  # K+1 sums of four kinds, once
