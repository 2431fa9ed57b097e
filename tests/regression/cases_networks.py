"""Cases of the networks: the PyTorch classifier and loss, and the JAX loss, batch by batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from regression import api, data
from regression.registry import Case, case, digest, histories

#: Criteria of the losses, all of them fitted without iterations where they are exact.
LOSSES = (
    "fair_target",
    "direct_effect",
    "direct_effect_spline",
    "direct_effect_interval",
    "parity",
    "equalized_odds",
)
BATCHES = 5


def cases() -> Iterator[Case]:
    """Yield the cases."""
    for criterion in ("fair_target_linear", "direct_effect", "parity"):
        for weighted in (False, True):
            suffix = f"{criterion}/{'weighted' if weighted else 'plain'}"
            both = (criterion, weighted)
            needs = ("torch", "scikit-learn")
            yield case(f"torch/fit/{suffix}", "float32", network, *both, engines=needs)
    yield case("torch/words", "float32", network_of_words, engines=("torch", "scikit-learn"))
    for criterion in LOSSES:
        small = criterion in ("fair_target", "parity")
        yield case(
            f"torch/loss/{criterion}", "exact", torch_loss, criterion, engines=("torch",),
            fixture=small,
        )  # fmt: skip
        yield case(
            f"jax/loss/{criterion}", "float32", jax_loss, criterion, engines=("jax",),
            fixture=criterion == "parity",
        )  # fmt: skip
    for criterion in ("direct_effect", "parity", "equalized_odds"):
        yield case(
            f"torch/stream/{criterion}", "exact", torch_stream, criterion, engines=("torch",)
        )


def _torch() -> Any:
    import torch

    torch.set_num_threads(1)
    return torch


def _outcome(model: Any, X: Any) -> dict[str, Any]:
    return {
        "proba": digest(model.predict_proba(X)[:, 1]),
        "inputs": digest(model.encode(X), 4),
        "best": model.best_epoch_,
        "epochs": model.n_epochs_,
        "history": histories(model.history_),
    }


def network(criterion: str, weighted: bool) -> Mapping[str, Any]:
    """Record the classifier at strength 0, where its history is left out, and above."""
    _torch()
    people, found = data.synthetic(600), {}
    for strength in (0.0, *api.strengths_of(criterion)):
        model = api.torch_classifier(api.CRITERIA[criterion](), strength, people)
        values = _outcome(api.fit(model, people, weighted), people.X)
        if not strength:
            del values["history"]
        found[str(strength)] = values
    return found


def network_of_words(rows: int = 500) -> Mapping[str, Any]:
    """Record a module of one's own on a table with categories and missing values."""
    torch = _torch()
    people = data.adult().take(slice(0, rows))

    def build(width: int) -> Any:
        return torch.nn.Sequential(
            torch.nn.Linear(width, 6), torch.nn.Tanh(), torch.nn.Linear(6, 1)
        )

    model = api.torch_classifier(api.CRITERIA["parity"](), 0.9, people, module=build)
    return _outcome(api.fit(model, people), people.X)


def _batches(n_rows: int) -> Iterator[Any]:
    order = np.random.default_rng(4).permutation(n_rows)
    yield from np.array_split(order, BATCHES)


def _margins(people: Any, place: int) -> Any:
    """Return logits that move from batch to batch, as training moves them."""
    return people.matrix[:, :6].sum(axis=1) / 3 + 0.2 * place


def torch_loss(criterion: str) -> Mapping[str, Any]:
    """Record value and gradient of each batch, then of all rows."""
    torch, people, found = _torch(), data.synthetic(400), {}
    for weighted in (False, True):
        made, strength = api.exact_criteria()[criterion], api.strengths_of(criterion)[-1]
        loss = api.torch_loss(made, strength, people, weighted)
        suffix = "weighted" if weighted else "plain"
        for place, rows in enumerate([*_batches(400), *_batches(400), None]):
            chosen = slice(None) if rows is None else rows
            logits = torch.tensor(_margins(people, place)[chosen], requires_grad=True)
            y = torch.as_tensor(people.labels[chosen])
            value = loss(logits, y, None if rows is None else torch.as_tensor(rows))
            value.backward()
            found[f"{suffix}/{place}"] = {
                "value": value.item(),
                "gradient": digest(logits.grad.numpy(), 4),
            }
        found[f"{suffix}/statistics"] = loss.statistics
    return found


def torch_stream(criterion: str) -> Mapping[str, Any]:
    """Record the loss of batches that bring their z and b."""
    torch, people, found = _torch(), data.synthetic(400), {}
    made = api.direct_effect() if criterion == "direct_effect" else api.CRITERIA[criterion]()
    loss = api.torch_stream_loss(made, 0.9, memory=200)
    b = 1 / (1 + np.exp(-people.matrix[:, 0]))
    for place, rows in enumerate([*_batches(400), *_batches(400)]):
        logits = torch.tensor(_margins(people, place)[rows], requires_grad=True)
        given = {
            "z": people.codes[rows],
            "row_values": b[rows],
            "sample_weight": people.weights[rows],
        }
        given = {name: torch.as_tensor(values) for name, values in given.items()}
        value = loss(logits, torch.as_tensor(people.labels[rows]), **given)
        value.backward()
        found[str(place)] = {"value": value.item(), "gradient": digest(logits.grad.numpy(), 4)}
    return found


def jax_loss(criterion: str) -> Mapping[str, Any]:
    """Record value, gradient and statistics of each batch, then of all rows."""
    import jax

    people, found = data.synthetic(400), {}
    for weighted in (False, True):
        made, strength = api.exact_criteria()[criterion], api.strengths_of(criterion)[-1]
        loss = api.jax_loss(made, strength, people, weighted)
        state = loss.init()
        step = jax.value_and_grad(
            lambda logits, state, y, rows, loss=loss: loss(state, logits, y, rows), has_aux=True
        )
        suffix = "weighted" if weighted else "plain"
        for place, rows in enumerate([*_batches(400), *_batches(400), None]):
            chosen = slice(None) if rows is None else rows
            logits = _margins(people, place)[chosen].astype(np.float32)
            (value, state), slope = step(logits, state, people.labels[chosen], rows)
            found[f"{suffix}/{place}"] = {
                "value": float(value),
                "gradient": digest(slope, 4),
                "statistics": np.asarray(loss.statistics(state), dtype=float),
            }
        found[f"{suffix}/other_strength"] = float(
            loss.at(0.4)(loss.init(), _margins(people, 0), people.labels)[0]
        )
    return found
