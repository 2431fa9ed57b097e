"""The peers: other people's methods on the same booster, run by the interpreter of .venv-peers.

``peers.py --check`` prints, as JSON, what each peer lacks; ``peers.py in.npz out.npz NAME ...``
fits the named peers. The input holds X, y, z, held (the rows to stop early by), test_X and test_z;
the output the test scores of every setting, and the CPU seconds it took. A plain fit is timed
before each peer.

A peer takes the data and yields tasks; a task trains, which is timed, and returns a function that
gives the test scores of its settings. The first setting of a peer is its default.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from itertools import product
from typing import Any

import numpy as np
import xgboost
from booster import DEPTH, ETA, PARAMS, PATIENCE, Booster, Floats, matrices, scores
from numpy.typing import NDArray

Task = Callable[[], Callable[[], dict[str, Floats]]]

#: Objectives of other people's may have no minimum; a plain fit here takes some 400 rounds.
MOST_ROUNDS = 1_000


@dataclass(frozen=True)
class Data:
    """Training rows, those of them to stop early by, and test covariates."""

    X: Floats
    y: Floats
    z: Floats
    held: NDArray[np.bool_]
    test_X: Floats
    test_z: Floats


def boost(data: Data, derivatives: Any, loss: Any) -> Any:
    """Boost with derivatives(margin, y, z), stopped early by loss(margin, y, z)."""
    train, stop = matrices(data.X, data.y, np.ones(len(data.y)), data.held)
    parts = {held: (data.y[data.held == held], data.z[data.held == held]) for held in (False, True)}
    return xgboost.train(
        {**PARAMS, "disable_default_eval_metric": True}, train, MOST_ROUNDS, evals=[(stop, "stop")],
        obj=lambda margin, _: derivatives(margin, *parts[False]),
        custom_metric=lambda margin, _: ("loss", loss(margin, *parts[True])),
        early_stopping_rounds=PATIENCE, verbose_eval=False,
    )  # fmt: skip


def exponentiated_gradient(data: Data) -> Iterator[Task]:
    """Demographic parity by fairlearn's reduction; the score averages its predictors' scores."""
    from fairlearn.reductions import DemographicParity, ExponentiatedGradient

    for slack in (0.01, 0.1):

        def task(slack: float = slack) -> Callable[[], dict[str, Floats]]:
            constraint = DemographicParity(difference_bound=slack)
            model = ExponentiatedGradient(Booster(data.held), constraint)
            model.fit(data.X, data.y, sensitive_features=data.z)
            return lambda: {f"slack {slack:g}": _mixture(model, data.test_X)}

        yield task


def _mixture(model: Any, X: Floats) -> Floats:
    return sum(
        weight * member.predict_proba(X)[:, 1]
        for weight, member in zip(model.weights_, model.predictors_, strict=True)
        if weight > 0
    )


def grid_search(data: Data) -> Iterator[Task]:
    """Demographic parity by fairlearn's grid; its own choice, then each of its ten predictors."""
    from fairlearn.reductions import DemographicParity, GridSearch

    def task() -> Callable[[], dict[str, Floats]]:
        model = GridSearch(Booster(data.held), DemographicParity(), grid_size=10)
        model.fit(data.X, data.y, sensitive_features=data.z)
        return lambda: {
            "own choice": model.predict_proba(data.test_X)[:, 1],
            **{
                f"predictor {k + 1}": member.predict_proba(data.test_X)[:, 1]
                for k, member in enumerate(model.predictors_)
            },
        }

    yield task


def correlation_remover(data: Data) -> Iterator[Task]:
    """Covariates made linearly uncorrelated with z, by fairlearn; it needs z to predict, too."""
    from fairlearn.preprocessing import CorrelationRemover

    for alpha in (1.0, 0.5, 0.25):

        def task(alpha: float = alpha) -> Callable[[], dict[str, Floats]]:
            remover = CorrelationRemover(sensitive_feature_ids=[data.X.shape[1]], alpha=alpha)
            X = remover.fit_transform(np.column_stack([data.X, data.z]))
            model = Booster(data.held).fit(X, data.y)
            return lambda: {
                f"α={alpha:g}": model.predict_proba(
                    remover.transform(np.column_stack([data.test_X, data.test_z]))
                )[:, 1]
            }

        yield task


def reweighing(data: Data) -> Iterator[Task]:
    """Weights P(z)P(y)/P(z,y), which make y and z independent (Kamiran & Calders 2012)."""

    def task() -> Callable[[], dict[str, Floats]]:
        weights = np.empty(len(data.y))
        for y, z in product((0, 1), (0, 1)):
            cell = (data.y == y) & (data.z == z)
            weights[cell] = np.mean(data.y == y) * np.mean(data.z == z) / cell.mean()
        model = Booster(data.held).fit(data.X, data.y, weights)
        return lambda: {"": model.predict_proba(data.test_X)[:, 1]}

    yield task


def fair_xgboost(data: Data) -> Iterator[Task]:
    """Log-loss of y less μ times the log-loss of z (Ravichandran et al. 2020, arXiv:2009.01442).

    Gradient p − y + μ(s − p), curvature (1−μ)p(1−p), s being z or 1−z.
    """
    for flip, mu in ((False, 0.1), (False, 0.2), (False, 0.3), (True, 0.05), (True, 0.1)):

        def derivatives(margin: Floats, y: Floats, z: Floats, flip: bool = flip, mu: float = mu):
            p, s = _sigmoid(margin), 1 - z if flip else z
            return p - y + mu * (s - p), (1 - mu) * p * (1 - p)

        def loss(margin: Floats, y: Floats, z: Floats, flip: bool = flip, mu: float = mu) -> float:
            return _log_loss(margin, y) - mu * _log_loss(margin, 1 - z if flip else z)

        def task(
            name: str = f"μ={mu:g}{', s=1−z' * flip}", pair: Any = (derivatives, loss)
        ) -> Callable[[], dict[str, Floats]]:
            booster = boost(data, *pair)
            return lambda: {name: scores(booster, data.test_X)}

        yield task


def fairgbm(data: Data) -> Iterator[Task]:
    """Equal error rates by Lagrange multipliers in a fork of LightGBM (Cruz et al. 2023)."""
    engine = import_module("fairgbm")
    for rates, speed in product(("FPR,FNR", "FPR", "FNR"), (0.1, 0.02, 0.005)):

        def task(rates: str = rates, speed: float = speed) -> Callable[[], dict[str, Floats]]:
            held = data.held
            train = engine.Dataset(data.X[~held], data.y[~held], constraint_group=data.z[~held])
            stop = engine.Dataset(
                data.X[held], data.y[held], reference=train, constraint_group=data.z[held]
            )
            params = {
                "objective": "constrained_cross_entropy", "constraint_type": rates,
                "multiplier_learning_rate": speed, "learning_rate": ETA, "max_depth": DEPTH,
                "num_leaves": 2**DEPTH, "num_threads": 1, "verbosity": -1, "seed": 0,
                "metric": "binary_logloss",
            }  # fmt: skip
            booster = engine.train(
                params, train, 10_000, valid_sets=[stop], verbose_eval=False,
                callbacks=[engine.early_stopping(PATIENCE, verbose=False)],
            )  # fmt: skip
            return lambda: {
                f"{rates}, multiplier rate {speed:g}": np.asarray(booster.predict(data.test_X))
            }

        yield task


def fairret_boosted(data: Data) -> Iterator[Task]:
    """Log-loss plus fairret's norm of the differences in positive rate, on the booster."""
    import torch
    from fairret.loss import NormLoss
    from fairret.statistic import PositiveRate

    penalty = NormLoss(PositiveRate())
    for strength in (1.0, 0.3, 0.1, 0.03):

        def value(margin: Any, z: Floats) -> Any:
            sens = torch.from_numpy(np.column_stack([1 - z, z]))
            return penalty(margin[:, None], sens)

        def derivatives(margin: Floats, y: Floats, z: Floats, strength: float = strength):
            leaf = torch.tensor(margin, dtype=torch.float64, requires_grad=True)
            value(leaf, z).backward()
            p = _sigmoid(margin)
            gradient = p - y + strength * len(y) * np.asarray(leaf.grad)
            return gradient, p * (1 - p)

        def loss(margin: Floats, y: Floats, z: Floats, strength: float = strength) -> float:
            fair = float(value(torch.tensor(margin, dtype=torch.float64), z))
            return _log_loss(margin, y) + strength * fair

        def task(
            name: str = f"strength {strength:g}", pair: Any = (derivatives, loss)
        ) -> Callable[[], dict[str, Floats]]:
            booster = boost(data, *pair)
            return lambda: {name: scores(booster, data.test_X)}

        yield task


def fairret_network(data: Data) -> Iterator[Task]:
    """Use the same penalty as fairret means it: a small network, mini-batches, Adam."""
    yield from (_network_task(data, strength) for strength in (1.0, 0.3, 0.1, 0.03))


def plain_network(data: Data) -> Iterator[Task]:
    """Fit the network alone: on labels drawn from the fair score, its floor."""
    yield _network_task(data, 0.0)


def _network_task(data: Data, strength: float) -> Task:
    def task() -> Callable[[], dict[str, Floats]]:
        network, center, scale = _train_network(data, strength)
        X = (data.test_X - center) / scale
        return lambda: {f"strength {strength:g}": _network_scores(network, X)}

    return task


def _train_network(data: Data, strength: float) -> tuple[Any, Floats, Floats]:
    """Return a network with 32 hidden units, stopped after 5 epochs without progress."""
    import torch
    from fairret.loss import NormLoss
    from fairret.statistic import PositiveRate

    torch.manual_seed(0)
    center, scale = data.X.mean(axis=0), data.X.std(axis=0)
    scale[scale == 0] = 1.0
    table = np.column_stack([(data.X - center) / scale, data.y, 1 - data.z, data.z])
    train, stop = (torch.tensor(table[k], dtype=torch.float32) for k in (~data.held, data.held))
    p = data.X.shape[1]
    network = torch.nn.Sequential(
        torch.nn.Linear(p, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1)
    )  # fmt: skip
    utility, penalty = torch.nn.BCEWithLogitsLoss(), NormLoss(PositiveRate())

    def loss(rows: Any) -> Any:
        logit = network(rows[:, :p])
        return utility(logit, rows[:, p : p + 1]) + strength * penalty(logit, rows[:, p + 1 :])

    optimiser = torch.optim.Adam(network.parameters(), lr=3e-3)
    best, stalled, state = np.inf, 0, network.state_dict()
    while stalled < 5:
        for batch in torch.randperm(len(train)).split(512):
            optimiser.zero_grad()
            loss(train[batch]).backward()
            optimiser.step()
        with torch.no_grad():
            now = float(loss(stop))
        stalled = 0 if now < best else stalled + 1
        if now < best:
            best, state = now, {k: v.clone() for k, v in network.state_dict().items()}
    network.load_state_dict(state)
    return network, center, scale


def _network_scores(network: Any, X: Floats) -> Floats:
    import torch

    with torch.no_grad():
        margin = network(torch.tensor(X, dtype=torch.float32))[:, 0]
    return _sigmoid(np.asarray(margin, dtype=np.float64))


def _sigmoid(margin: Floats) -> Floats:
    return 1 / (1 + np.exp(-np.asarray(margin, dtype=np.float64)))


def _log_loss(margin: Floats, y: Floats) -> float:
    return float(np.mean(np.logaddexp(0, np.asarray(margin, dtype=np.float64)) - y * margin))


#: Not a method, but the floor of the one that has another base model.
NETWORK = "plain network"

#: Name → the packages it needs, and the tasks it stands for.
PEERS: dict[str, tuple[tuple[str, ...], Callable[[Data], Iterator[Task]]]] = {
    "fairlearn ExponentiatedGradient": (("fairlearn",), exponentiated_gradient),
    "fairlearn GridSearch": (("fairlearn",), grid_search),
    "fairlearn CorrelationRemover": (("fairlearn",), correlation_remover),
    "reweighing": ((), reweighing),
    "FairXGBoost objective": ((), fair_xgboost),
    "FairGBM": (("fairgbm",), fairgbm),
    "fairret, booster": (("torch", "fairret"), fairret_boosted),
    "fairret, network": (("torch", "fairret"), fairret_network),
    NETWORK: (("torch", "fairret"), plain_network),
}


def check(names: Iterable[str] = tuple(PEERS)) -> dict[str, str | None]:
    """Return what keeps each peer from running, None if nothing does."""
    reasons: dict[str, str | None] = {}
    for name in names:
        try:
            for package in PEERS[name][0]:
                import_module(package)
            reasons[name] = None
        except (ImportError, OSError, AttributeError) as error:
            reasons[name] = f"{type(error).__name__}: {error}"
    return reasons


def versions() -> dict[str, str]:
    """Return the versions of the packages that are installed."""
    found = {}
    for package in ("fairgbm", "fairlearn", "fairret", "torch", "xgboost-cpu"):
        with contextlib.suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def run(data: Data, names: list[str]) -> tuple[list[dict[str, Any]], list[Floats], dict[str, str]]:
    """Return a record and the test scores of each setting, and why a peer failed."""
    records: list[dict[str, Any]] = []
    arrays: list[Floats] = []
    errors: dict[str, str] = {}
    _seconds(lambda: Booster(data.held).fit(data.X, data.y))  # warm
    for name in names:
        plain, _ = _seconds(lambda: Booster(data.held).fit(data.X, data.y))
        try:
            for task in PEERS[name][1](data):
                seconds, predict = _seconds(task)
                for setting, p in predict().items():
                    records.append(
                        {"method": name, "setting": setting, "seconds": seconds, "plain": plain}
                    )
                    arrays.append(p)
        except Exception as error:  # one peer's failure is a fact to report
            errors[name] = f"{type(error).__name__}: {error}"
    return records, arrays, errors


def _seconds(task: Callable[[], Any]) -> tuple[float, Any]:
    """Return the CPU seconds of a task, and what it returned."""
    start = time.process_time()
    found = task()
    return time.process_time() - start, found


def main() -> None:
    """Check, or fit the named peers."""
    warnings.simplefilter("ignore")
    if sys.argv[1:] == ["--check"]:
        print(json.dumps({"reasons": check(), "versions": versions()}))
        return
    source, target, *names = sys.argv[1:]
    check(names)  # imports are not what is timed
    with np.load(source) as file:
        data = Data(**file)
    records, arrays, errors = run(data, names)
    np.savez(
        target,
        scores=np.array(arrays).reshape(len(arrays), len(data.test_X)),
        facts=json.dumps({"records": records, "errors": errors}),
    )


if __name__ == "__main__":
    main()
