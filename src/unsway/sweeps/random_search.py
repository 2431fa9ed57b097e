"""The run of a search: candidates in their order, the choice, and the one look at test rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs

from .._typing import Floats
from ..models.folder import versions_of
from ..rows import Rows
from .alternatives_result import Alternatives
from .candidate import AXES, CHAMPION, Candidate
from .finalists import choose, judge_finalists
from .inputs import describe, engine_of, hash_rows
from .judge import judge_of
from .stopping import Stopping
from .trial import Bench

#: Called with a finished candidate, how many are finished and how many there are in all.
Callback = Callable[[Candidate, int, int], None]
#: Stored measures that are computed again differ by rounding only.
_ROUNDING = 1e-9


class Search:
    """A search with its inputs checked.

    Parameters
    ----------
    bench : Bench
        Estimators, rows to train on and to choose by.
    test : Rows
        Looked at once, at the end.
    test_profit : array or None
    settings : mapping
    stopping : Stopping, optional
    """

    def __init__(
        self,
        *,
        bench: Bench,
        test: Rows,
        test_profit: Floats | None,
        settings: Mapping[str, Any],
        stopping: Stopping | None = None,
    ) -> None:
        self.bench, self.test, self.test_profit = bench, test, test_profit
        self.settings, self.stopping = settings, stopping or Stopping()
        self.fingerprint = _fingerprint(bench, test, settings)
        self.models: dict[int, Any] = {}
        self.notes: list[str] = []
        self.known: dict[int, Candidate] = {}

    def run(
        self,
        *,
        n_candidates: int,
        n_finalists: int,
        n_seeds: int,
        n_jobs: int | None,
        callback: Callback | None,
    ) -> Alternatives:
        """Try candidates until the search stops, choose, and look at the test rows."""
        self._open()
        self._judge()
        champion = self._champion()
        tried, why = self._try(n_candidates, n_jobs, callback, champion)
        finalists = self._ranked(tried, champion)[:n_finalists]
        judged = judge_finalists(self, champion, finalists, len(tried), n_seeds)
        axis = self.settings["axis"].replace("_", " ")
        return Alternatives(
            champion=champion,
            candidates=tuple(tried),
            finalists=tuple(finalists),
            judged=judged,
            why_stopped=why,
            statement=self.stopping.statement(len(tried), n_candidates, axis),
            bound=self.stopping.bound(len(tried), n_candidates),
            settings={**self.settings, "stopping": vars(self.stopping)},
            space=self.bench.space.to_dict(),
            fingerprint=self.fingerprint,
            notes=tuple(dict.fromkeys(self.notes)),
            search=self,
        )

    def _try(
        self, n_candidates: int, n_jobs: int | None, callback: Callback | None, champion: Candidate
    ) -> tuple[list[Candidate], str]:
        """Return the candidates in their order, and why no more were tried."""
        tried: list[Candidate] = []
        for candidate in self._candidates(n_candidates, n_jobs):
            tried.append(candidate)
            if callback is not None:
                callback(candidate, len(tried), n_candidates)
            if self._reached(self._ranked(tried, champion)):
                reached = f"an allowed candidate reached the target of {self.settings['target']:g}"
                return tried, reached
            if self.stopping.holds(len(tried), n_candidates):
                return tried, (
                    "the bound on the chance that one more is better fell to "
                    f"{self.stopping.chance:g}"
                )
        return tried, f"all {n_candidates} candidates were tried"

    def _ranked(self, tried: Sequence[Candidate], champion: Candidate) -> list[Candidate]:
        return choose(tried, champion=champion, settings=self.settings)

    def _open(self) -> None:
        store = self.bench.store
        if store is None:
            return
        for name, estimator in self.bench.estimators.items():
            if engine_of(estimator) is None:
                raise TypeError(
                    f"store: {name!r} is a {type(estimator).__name__}, which has no open format to "
                    "be kept in; leave store out, or use FairLogisticRegression, FairXGBClassifier "
                    "or FairLGBMClassifier"
                )
        store.open(self.fingerprint)
        found = store.points().values()
        self.known = {each.number: each for each in found if not each.error}

    def _judge(self) -> None:
        """Estimate the effects of z on the labels of the validation rows, once."""
        if self.settings["effects"] is None:
            return
        judge, note = judge_of(self.bench.validation, self.settings["effects"], "validation")
        if note is not None and self.settings["axis"] != AXES[0]:
            raise ValueError(f"axis {self.settings['axis']!r} cannot be measured: {note}")
        self.notes += [note] if note is not None else []
        self.bench.yardstick = replace(self.bench.yardstick, judge=judge)

    def _champion(self) -> Candidate:
        if CHAMPION not in self.known:
            found, model = self.bench.champion()
            if model is not None:
                self.models[CHAMPION] = model
            return found
        champion = self.known[CHAMPION]
        scores = self.scores(champion, self.bench.validation.X)
        again = self.bench.yardstick.measure(scores)
        for name in ("auc", "adverse_impact_ratio"):
            if abs(again[name] - champion.value(name)) > _ROUNDING:
                assert self.bench.store is not None  # noqa: S101
                raise ValueError(
                    f"{self.bench.store.path} holds a search of other data: {name} of its champion "
                    f"is {again[name]:.6g} and was {champion.value(name):.6g}. Give another "
                    "folder, or the sensitive_features it was made with"
                )
        return champion

    def _candidates(self, n_candidates: int, n_jobs: int | None) -> Iterator[Candidate]:
        """Yield the candidates in the order of their draws, as soon as each is finished."""
        enough = self.stopping.enough(n_candidates) or n_candidates
        missing = [k for k in range(min(enough, n_candidates)) if k not in self.known]
        fresh = self._fit(missing, n_jobs)
        for number in range(n_candidates):
            if number in self.known:
                yield self.known[number]
                continue
            candidate, model = next(fresh)
            if model is not None:
                self.models[candidate.number] = model
            yield candidate

    def _fit(self, missing: Sequence[int], n_jobs: int | None) -> Iterator[tuple[Candidate, Any]]:
        if min(effective_n_jobs(n_jobs), len(missing)) <= 1:
            yield from map(self.bench.try_one, missing)
            return
        draws = [self.bench.space.draw(number) for number in missing]
        bench = self.bench.for_worker({(each.engine, each.features) for each in draws})
        run = Parallel(n_jobs=n_jobs, return_as="generator")
        yield from run(delayed(bench.try_one)(number) for number in missing)

    def _reached(self, ranked: Sequence[Candidate]) -> bool:
        target, axis = self.settings["target"], self.settings["axis"]
        if target is None or not ranked:
            return False
        value = ranked[0].value(axis)
        return value >= target if axis == AXES[0] else abs(value) <= target

    def model(self, candidate: Candidate) -> Any:
        """Return the model of a candidate."""
        if candidate.number in self.models:
            return self.models[candidate.number]
        if self.bench.store is None:
            raise ValueError(
                f"there is no model of {candidate.name}: {candidate.error or 'not kept'}"
            )
        return self.bench.store.model(candidate.key)

    def scores(self, candidate: Candidate, X: Any) -> Floats:
        """Return the scores of rows by a candidate's model."""
        return self.bench.scores(self.model(candidate), candidate.draw, X)


def _fingerprint(bench: Bench, test: Rows, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings and hashes of the data: a store continues only if they are the same."""
    engines = {engine_of(each) for each in bench.estimators.values()}
    versions = {name: v for each in engines for name, v in versions_of(each).items()}
    return {
        "estimators": {
            name: {k: v for k, v in describe(each).items() if k not in ("callback", "n_jobs")}
            for name, each in bench.estimators.items()
        },
        "space": bench.space.to_dict(),
        "feature_sets": {name: each and list(each) for name, each in bench.feature_sets.items()},
        "settings": describe({k: v for k, v in settings.items() if k not in ("target",)}),
        "data": {
            "training rows": hash_rows(bench.train),
            "validation rows": hash_rows(bench.validation),
            "test rows": hash_rows(test),
        },
        "versions": {name: v for name, v in versions.items() if name != "python"},
    }
