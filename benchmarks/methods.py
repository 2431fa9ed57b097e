"""The methods of known_truth.py and real_data.py: ours by one line each, the peers by their script.

Every fit is timed beside a plain one, right before it, on one thread and in CPU seconds: on an idle
machine they are seconds, and on a busy one they still compare.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from booster import DEPTH, ETA, HELD_OUT, Booster, Floats
from numpy.typing import NDArray
from peers import NETWORK, PEERS
from sklearn.ensemble import HistGradientBoostingClassifier

from unsway import DirectEffect, FairXGBClassifier
from unsway.folds import hold_out
from unsway.rows import Rows as CheckedRows

HERE = Path(__file__).parent
PEERS_HOME = HERE.parent / ".venv-peers"
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

Mask = NDArray[np.bool_]
Factory = Callable[[Mask], Any]


@dataclass(frozen=True)
class Rows:
    """Covariates, labels and the sensitive attribute."""

    X: Floats
    y: NDArray[Any]
    z: NDArray[Any]

    def held(self) -> Mask:
        """Return the rows to stop early by, the same for every method."""
        return hold_out(self.X, self.y + 2.0 * self.z, HELD_OUT)


@dataclass(frozen=True)
class Fit:
    """The test scores of one method at one setting, and what it took beside a plain fit."""

    method: str
    setting: str
    scores: Floats
    seconds: float
    plain: float


class MissingMethodError(Exception):
    """A method that this version of the library has not."""


def ours(module: str, name: str) -> Any:
    """Return a class of the library, or say that it is not there."""
    try:
        return getattr(import_module(f"unsway.{module}"), name)
    except (ImportError, AttributeError):
        raise MissingMethodError(f"this unsway has no {name}") from None


def boosted(
    criterion: str, strength: float, curvature: str = "adaptive", **options: Any
) -> Factory:
    """Return boosted trees held to a criterion."""
    return lambda _: FairXGBClassifier(
        ours("criteria", criterion)(**options),
        strength,
        params={"eta": ETA, "max_depth": DEPTH},
        curvature=curvature,
        n_jobs=1,
    )


def wrapped(module: str, name: str, **options: Any) -> Factory:
    """Return a class of the library around the plain booster."""
    return lambda held: ours(module, name)(Booster(held), **options)


#: Nuisances without a linear model, which is right in most worlds and so has it easy there.
TREES = {
    name: HistGradientBoostingClassifier(max_leaf_nodes=8, early_stopping=False, random_state=0)
    for name in ("outcome_model", "propensity_model")
}

#: Name → what makes the unfitted model, given the rows to stop early by.
OURS: dict[str, Factory] = {
    "blind": lambda held: Booster(held),
    "paper's penalty, exact, λ=.9": boosted("DirectEffect", 0.9, "exact", form="paper"),
    "paper's penalty, exact, λ=.975": boosted("DirectEffect", 0.975, "exact", form="paper"),
    "paper's penalty, bound, λ=.9": boosted("DirectEffect", 0.9, "bound", form="paper"),
    "paper's penalty, bound, λ=.975": boosted("DirectEffect", 0.975, "bound", form="paper"),
    "two-sided (1,0), λ=.9": boosted("DirectEffect", 0.9, form="match"),
    "function norm (2,1), λ=.9": boosted(
        "DirectEffect", 0.9, outcome_degree=2, effect_degree=1, norm="function"
    ),
    "function norm (2,1), fair base rate, λ=.9": boosted(
        "DirectEffect", 0.9, outcome_degree=2, effect_degree=1, norm="function", base_rate="fair"
    ),
    "fair target": boosted("FairTarget", 1.0),
    "fair target, not corrected": boosted("FairTarget", 1.0, correction_degree=None),
    "fair target, corrected by a line": boosted("FairTarget", 1.0, correction_degree=1),
    "fair target, trees only": boosted("FairTarget", 1.0, **TREES),
    "averaged over z": lambda held: ours("models.marginalized", "MarginalizedClassifier")(
        Booster(held)
    ),
    "corrected": lambda held: ours("models.corrected", "DirectEffectCorrector")(Booster(held)),
}

#: The default, and what is measured beside it unless other methods are named.
DEFAULT = "fair target"
ALTERNATIVES = (
    "blind",
    "averaged over z",
    "fair target, not corrected",
    "two-sided (1,0), λ=.9",
    "function norm (2,1), λ=.9",
)

METHODS = (*OURS, *(name for name in PEERS if name != NETWORK))


def fit_ours(names: Sequence[str], train: Rows, test: Rows) -> Iterator[Fit]:
    """Fit our methods, each beside a plain fit; one that is missing or fails costs a line."""
    held = train.held()
    plain = Booster(held).fit(train.X, train.y)  # warm
    for name in names:
        try:
            model = OURS[name](held)
            start = time.process_time()
            plain.fit(train.X, train.y)
            middle = time.process_time()
            if "sensitive_features" in inspect.signature(model.fit).parameters:
                model.fit(train.X, train.y, sensitive_features=train.z)
            else:
                model.fit(train.X, train.y)
            end = time.process_time()
            scores = model.predict_proba(test.X)[:, 1]
        except Exception as reason:  # the other methods of a long run are worth having
            print(f"skipped {name}: {type(reason).__name__}: {reason}", flush=True)
            continue
        yield Fit(name, "", scores, end - middle, middle - start)


def fit_peers(names: Sequence[str], train: Rows, test: Rows) -> Iterator[Fit]:
    """Fit peers in their own environment; one that fails is skipped with a line."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "in.npz"), Path(folder, "out.npz")
        np.savez(
            source,
            X=train.X,
            y=train.y.astype(np.float64),
            z=train.z.astype(np.float64),
            held=train.held(),
            test_X=test.X,
            test_z=test.z.astype(np.float64),
        )
        _run_peers([str(source), str(target), *names])
        with np.load(target) as file:
            scores, facts = file["scores"], json.loads(str(file["facts"]))
    for name, reason in facts["errors"].items():
        print(f"skipped {name}: {reason}", flush=True)
    for record, p in zip(facts["records"], scores, strict=True):
        if record["method"] not in facts["errors"]:
            yield Fit(scores=p, **record)


def fit_all(names: Sequence[str], train: Rows, test: Rows) -> Iterator[Fit]:
    """Fit methods of both kinds."""
    yield from fit_ours([name for name in names if name in OURS], train, test)
    peers = [name for name in names if name in PEERS]
    if peers:
        yield from fit_peers(peers, train, test)


def time_propensity(train: Rows) -> tuple[float, float]:
    """Return the seconds of the propensity score that the penalties fit, and of a plain fit."""
    held, criterion = train.held(), DirectEffect()
    start = time.process_time()
    Booster(held).fit(train.X, train.y)
    middle = time.process_time()
    criterion.fit(CheckedRows.check(train.X, train.y, sensitive_features=train.z))
    return time.process_time() - middle, middle - start


def usable_methods(names: Sequence[str]) -> tuple[list[str], Mapping[str, str]]:
    """Return the methods that can run here, after a line for each that cannot, and versions."""
    unknown = sorted(set(names) - set(METHODS))
    if unknown:
        raise SystemExit(f"unknown methods: {', '.join(unknown)}; choose from {'; '.join(METHODS)}")
    if not any(name in PEERS for name in names):
        return list(names), {}
    reasons, versions = peers_environment()
    for name in names:
        if reasons.get(name):
            print(f"skipped {name}: {reasons[name]}", flush=True)
    return [name for name in names if not reasons.get(name)], versions


@cache
def peers_environment() -> tuple[Mapping[str, str | None], Mapping[str, str]]:
    """Make the peers' environment if it is not there; return what each lacks, and versions."""
    requirements = HERE / "requirements-peers.txt"
    wanted = hashlib.sha256(requirements.read_bytes()).hexdigest()
    stamp = PEERS_HOME / ".installed"
    try:
        if not stamp.exists() or stamp.read_text(encoding="utf-8") != wanted:
            _install(requirements)
            stamp.write_text(wanted, encoding="utf-8")
        facts = json.loads(_run_peers(["--check"]).splitlines()[-1])
    except (OSError, subprocess.CalledProcessError) as error:
        reason = f"the peers' environment could not be made ({error})"
        return dict.fromkeys(PEERS, reason), {}
    return facts["reasons"], facts["versions"]


def _install(requirements: Path) -> None:
    """Install the peers, one by one if they do not go together."""
    print(f"installing the peers into {PEERS_HOME.name}", flush=True)
    if not _python().exists():
        subprocess.run([sys.executable, "-m", "venv", str(PEERS_HOME)], check=True)
    pip = [str(_python()), "-m", "pip", "install", "--quiet"]
    if subprocess.run([*pip, "--requirement", str(requirements)], check=False).returncode == 0:
        return
    for line in requirements.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            subprocess.run([*pip, line], check=False)


def _run_peers(arguments: Sequence[str]) -> str:
    done = subprocess.run(
        [str(_python()), str(HERE / "peers.py"), *arguments],
        env={**os.environ, **ONE_THREAD},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return done.stdout


def _python() -> Path:
    return PEERS_HOME / "bin" / "python"
