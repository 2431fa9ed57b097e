"""FairLoss recorded as a CUDA graph is FairLoss."""

import numpy as np
import pytest

from unsway import DirectEffect, FairTarget, Parity, make_synthetic

torch = pytest.importorskip("torch")

from unsway.models.torch import FairLoss  # noqa: E402

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")

PEOPLE = make_synthetic(4_000, random_state=0)
BATCHES = np.random.default_rng(0).permutation(4_000).reshape(-1, 500)


def losses_and_gradients(loss, graphed):
    y = torch.as_tensor(PEOPLE.y, dtype=torch.float32, device="cuda")
    X = torch.as_tensor(PEOPLE.X, dtype=torch.float32, device="cuda")
    weights = torch.full((X.shape[1],), 0.1, device="cuda", requires_grad=True)
    call = loss
    if graphed:
        rows = torch.as_tensor(BATCHES[0], device="cuda")
        sample = (X[rows] @ weights).detach().requires_grad_()
        call = torch.cuda.make_graphed_callables(loss, (sample, y[rows], rows))
    found = []
    for batch in (*BATCHES, *BATCHES):
        rows = torch.as_tensor(batch, device="cuda")
        value = call(X[rows] @ weights, y[rows], rows)
        (gradient,) = torch.autograd.grad(value, weights)
        found.append((value.item(), gradient.cpu().numpy()))
    return found[len(BATCHES) :]  # once every row was seen, whatever the warm-up saw before


@pytest.mark.parametrize("criterion", [Parity(), DirectEffect(), FairTarget()], ids=repr)
def test_a_graph_gives_the_same_losses_and_gradients(criterion):
    plain, graphed = (
        losses_and_gradients(
            FairLoss(criterion, X=PEOPLE.X, y=PEOPLE.y, sensitive_features=PEOPLE.z).to("cuda"),
            graphed,
        )
        for graphed in (False, True)
    )
    for (value, gradient), (other, its_gradient) in zip(plain, graphed, strict=True):
        assert value == pytest.approx(other, rel=1e-5)
        np.testing.assert_allclose(its_gradient, gradient, rtol=1e-4, atol=1e-6)
