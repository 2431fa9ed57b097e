"""A store keeps what is finished, and nothing half-written or foreign gets in."""

import contextlib
import json
import multiprocessing
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from hashlib import blake2b, md5, sha1, sha256

import numpy as np
import pytest

from unsway import (
    DirectEffectCorrector,
    FairLogisticRegression,
    FairXGBClassifier,
    MarginalizedClassifier,
    Parity,
    Schedule,
    make_synthetic,
)
from unsway.files import temporary_name
from unsway.sweeps import Frontier, Point, Store, frontier

STRENGTHS = [0.0, 0.3, 0.6, 0.9]


@pytest.fixture(scope="module")
def people():
    return make_synthetic(600, random_state=0)


def sweep(people, store, strengths=STRENGTHS, estimator=None, **options):
    return frontier(
        FairLogisticRegression(Parity()) if estimator is None else estimator,
        options.pop("X", people.X),
        people.y,
        sensitive_features=people.z,
        strengths=strengths,
        store=store,
        **{"effects": False, **options},
    )


def figures(found):
    """All that must not depend on how often a sweep was stopped."""
    return [replace(point, seconds=0.0) for point in found.points]


def marks(store):
    """When each entry was written, and as which file."""
    return {
        path.parent.name: (path.stat().st_mtime_ns, path.stat().st_ino)
        for path in (store / "models").glob("*/row.json")
    }


def booster(**settings):
    quick = Schedule(ramp_steps=5, patience=3, max_steps=40)
    return FairXGBClassifier(
        Parity(), params={"max_depth": 2}, schedule=quick, n_jobs=1, **settings
    )


@pytest.mark.parametrize("make", [lambda: FairLogisticRegression(Parity()), booster])
def test_an_interrupted_sweep_goes_on_where_it_was(make, people, tmp_path):
    def stop(point, done, total):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(people, tmp_path / "a", estimator=make(), callback=stop)
    before = marks(tmp_path / "a")
    assert len(before) == 2
    seen = []
    resumed = sweep(people, tmp_path / "a", estimator=make(), callback=lambda *a: seen.append(a))
    whole = sweep(people, tmp_path / "b", estimator=make())
    assert [(point.strength, done, total) for point, done, total in seen] == [
        (0.6, 3, 4),
        (0.9, 4, 4),
    ]
    assert figures(resumed) == figures(whole)
    assert before.items() <= marks(tmp_path / "a").items()
    for strength in STRENGTHS:
        files = [Store(tmp_path / place).model_folder(strength)["model.json"] for place in "ab"]
        assert files[0] == files[1]


def test_a_finished_sweep_is_read_and_nothing_is_fitted(people, tmp_path):
    def fail(step):
        raise AssertionError("a fit was started")

    first = sweep(people, tmp_path, estimator=booster())
    again = sweep(people, tmp_path, estimator=booster(callback=fail))
    assert again.points == first.points
    assert again.parts == first.parts


def test_more_strengths_join_those_that_are_there(people, tmp_path):
    sweep(people, tmp_path, [0.0, 0.6])
    before = marks(tmp_path)
    found = sweep(people, tmp_path, [0.3])
    assert found.strengths == (0.0, 0.3, 0.6)
    assert before.items() <= marks(tmp_path).items()


def test_a_store_serves_as_a_frontier(people, tmp_path):
    found, loaded = sweep(people, tmp_path), Frontier.load(tmp_path)
    assert loaded.points == found.points
    p = loaded.model(0.6).predict_proba(people.X)[:, 1]
    alone = sweep(people, None).model(0.6).predict_proba(people.X)[:, 1]
    np.testing.assert_array_equal(p, alone)


def test_a_store_holds_no_pickle_and_no_row(people, tmp_path):
    sweep(people, tmp_path)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    names = {path.name for path in files}
    assert {"sweep.json", "about.json", "row.json", "card.json", "model.json"} <= names
    assert {path.suffix for path in files} <= {".json", ".md"}
    assert max(path.stat().st_size for path in files) < 10 * len(people.y)  # no column is there


# --- the same sweep, or none ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"estimator": FairLogisticRegression(Parity(), l2=0.1)},
            r"estimator.l2 was 0.0 and is 0.1",
        ),
        ({"estimator": booster()}, r'estimator.class was "FairLogisticRegression"'),
        ({"threshold": 0.4}, r"settings.threshold was 0.5 and is 0.4"),
        ({"validation_fraction": 0.5}, r"settings.validation_fraction was 0.33 and is 0.5"),
        ({"random_state": 3}, r"settings.random_state was 0 and is 3"),
        ({"cv": 2}, r"settings.cv was null and is 2"),
        ({"sample_weight": np.ones(600)}, r"data.training rows.sample_weight was null"),
    ],
)
def test_other_settings_are_refused_by_name(change, words, people, tmp_path):
    sweep(people, tmp_path, [0.0])
    with pytest.raises(ValueError, match=words):
        sweep(people, tmp_path, [0.0], **change)


def test_other_data_are_refused(people, tmp_path):
    sweep(people, tmp_path, [0.0])
    X = np.array(people.X)
    X[17, 0] += 1e-9
    with pytest.raises(ValueError, match=r"data.training rows.X has other values"):
        sweep(people, tmp_path, [0.0], X=X)


def test_settings_that_change_no_model_are_no_reason_to_refuse(people, tmp_path):
    sweep(people, tmp_path, [0.0], estimator=booster())
    other = booster(callback=lambda step: None, strength=0.7).set_params(n_jobs=2)
    assert sweep(people, tmp_path, [0.0], estimator=other).strengths == (0.0,)


def test_a_folder_of_something_else_is_left_alone(people, tmp_path):
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(FileExistsError, match=r"holds 'thesis.txt'"):
        sweep(people, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_file_is_no_folder(people, tmp_path):
    (tmp_path / "store").write_text("mine")
    with pytest.raises(NotADirectoryError, match="is a file"):
        sweep(people, tmp_path / "store")


@pytest.mark.parametrize("text", ["{", "[]", '{"format": "other"}'])
def test_a_damaged_description_is_refused(text, people, tmp_path):
    sweep(people, tmp_path, [0.0])
    (tmp_path / "sweep.json").write_text(text)
    with pytest.raises(ValueError, match=r"damaged|format"):
        sweep(people, tmp_path, [0.0])


@pytest.mark.parametrize("estimator", [MarginalizedClassifier(), DirectEffectCorrector()])
def test_a_model_without_an_open_format_is_refused(estimator, people, tmp_path):
    with pytest.raises(TypeError, match=r"strength|open format"):
        sweep(people, tmp_path / "store", estimator=estimator)
    assert not (tmp_path / "store").exists()


# --- damage --------------------------------------------------------------------------------------


def cut(path):
    path.write_bytes(path.read_bytes()[:-20])


def change_a_figure(path):
    content = json.loads(path.read_text())
    content["row"]["parts"]["validation"]["accuracy"] = 0.99
    path.write_text(json.dumps(content))


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("row.json", cut),
        ("row.json", change_a_figure),
        ("row.json", os.remove),
        ("model.json", cut),
        ("model.json", os.remove),
        ("card.json", cut),
    ],
)
def test_a_damaged_entry_is_computed_again(name, damage, people, tmp_path):
    whole = figures(sweep(people, tmp_path))
    damage(tmp_path / "models" / "0.3" / name)
    with pytest.warns(UserWarning, match="0.3 is damaged and will be computed again"):
        again = sweep(people, tmp_path)
    assert figures(again) == whole
    assert sweep(people, tmp_path).points == again.points


def flip(path, name):
    """Change a figure, which leaves the file readable."""
    text = path.read_text()
    place = text.index(f'"{name}": ') + len(name) + 6
    path.write_text(text[:place] + ("1" if text[place] != "1" else "2") + text[place + 1 :])


def test_a_changed_fact_is_noticed(people, tmp_path):
    sweep(people, tmp_path, [0.0])
    flip(tmp_path / "about.json", "label_gap")
    with pytest.warns(UserWarning, match=r"about.json is damaged .*its checksum differs"):
        assert Frontier.load(tmp_path).parts == {}


def test_facts_whose_checksum_is_gone_are_left_out(people, tmp_path):
    sweep(people, tmp_path, [0.0])
    path = tmp_path / "about.json"
    path.write_text(path.read_text().replace('"checksum"', '"chucksum"'))
    with pytest.warns(UserWarning, match=r"about.json is damaged .*it has no checksum"):
        assert Frontier.load(tmp_path).parts == {}


def test_a_changed_description_is_refused(people, tmp_path):
    sweep(people, tmp_path, [0.0])
    flip(tmp_path / "sweep.json", "threshold")
    with pytest.raises(ValueError, match=r"sweep.json has changed .* give another folder"):
        Frontier.load(tmp_path)


def test_a_changed_card_is_noticed(people, tmp_path):
    sweep(people, tmp_path, [0.3])
    flip(tmp_path / "models" / "0.3" / "card.json", "strength")
    with pytest.warns(UserWarning, match=r"0.3 is damaged .*card.json has changed"):
        assert sweep(people, tmp_path, [0.3]).strengths == (0.3,)


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"parts": 3}'])
def test_damaged_facts_are_left_out(text, people, tmp_path):
    points = sweep(people, tmp_path, [0.0]).points
    (tmp_path / "about.json").write_text(text)
    with pytest.warns(UserWarning, match=r"about.json is damaged and is left out"):
        found = Frontier.load(tmp_path)
    assert (found.points, found.parts, found.notes) == (points, {}, ())
    with pytest.warns(UserWarning, match=r"about.json is damaged and is left out"):
        assert sweep(people, tmp_path, [0.0]).parts["train"]["rows"] == 402
    assert Frontier.load(tmp_path).parts["train"]["rows"] == 402


def test_a_fit_that_fails_is_a_row_and_the_rest_go_on(people, tmp_path):
    def fail(step):
        if step.strength == 0.3:
            raise ZeroDivisionError("by design")

    for store in (None, tmp_path):
        found = sweep(people, store, [0.0, 0.3, 0.25], estimator=booster(callback=fail))
        assert [point.error for point in found.points] == ["", "", "ZeroDivisionError: by design"]
        table = found.to_frame()
        assert list(table["error"][table["strength"] == 0.3]) == [found.points[2].error] * 2
        assert table["accuracy"][table["strength"] == 0.3].isna().all()
        with pytest.raises(ValueError, match=r"no model at strength 0.3: ZeroDivisionError"):
            found.model(0.3)
    mended = sweep(people, tmp_path, [0.3], estimator=booster())
    assert mended.point(0.3).error == ""


def test_a_place_that_cannot_be_written_is_refused_before_any_work(people):
    with pytest.raises(OSError, match="the store /proc/unsway cannot be written"):
        sweep(people, "/proc/unsway")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_refused_before_any_work(people, tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(OSError, match="cannot be written"):
        sweep(people, tmp_path / "store")


FULL = """
import resource, sys
from unsway import FairLogisticRegression, Parity, make_synthetic
from unsway.sweeps import frontier
people = make_synthetic(600, random_state=0)

def fill(point, done, total):  # from now on no file can grow beyond a few bytes
    if done == 2:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))

try:
    frontier(FairLogisticRegression(Parity()), people.X, people.y, sensitive_features=people.z,
             strengths=[0, .3, .6, .9], store=sys.argv[1], effects=False, callback=fill)
except OSError as error:
    print(error)
"""


def test_a_full_disk_is_said_and_what_is_finished_stays(people, tmp_path):
    shown = subprocess.run(
        [sys.executable, "-c", FULL, tmp_path / "store"], capture_output=True, text=True, check=True
    )
    assert "cannot be written: File too large" in shown.stdout
    assert "strengths that are finished are kept" in shown.stdout
    names = sorted(path.name for path in (tmp_path / "store" / "models").iterdir())
    assert names == ["0.0", "0.3"]
    assert figures(sweep(people, tmp_path / "store")) == figures(sweep(people, None))


# --- several at a time ---------------------------------------------------------------------------


def run_in_turn(store, number):
    sweep(make_synthetic(600, random_state=0), store, STRENGTHS)


def test_two_processes_share_a_store(people, tmp_path):
    context = multiprocessing.get_context("spawn")
    both = [context.Process(target=run_in_turn, args=(tmp_path, k)) for k in range(2)]
    for process in both:
        process.start()
    for process in both:
        process.join()
    assert [process.exitcode for process in both] == [0, 0]
    assert figures(sweep(people, tmp_path)) == figures(sweep(people, None))
    assert sorted(path.name for path in (tmp_path / "models").iterdir()) == sorted(
        map(str, STRENGTHS)
    )


def test_the_first_to_finish_a_strength_wins(people, tmp_path):
    found = sweep(people, tmp_path, [0.3])
    late = replace(found.points[0], seconds=99.0)
    model = sweep(people, None, [0.3]).model(0.3)
    assert Store(tmp_path).write(late, model) == found.points[0]
    assert Frontier.load(tmp_path).points == found.points


def test_what_a_killed_process_left_goes_and_what_a_living_one_writes_stays(people, tmp_path):
    sweep(people, tmp_path, [0.3])
    models = tmp_path / "models"
    shutil.copytree(models / "0.3", models / ".0.3.abcdefgh.unsway" / "entry")
    (tmp_path / ".about.json.abcdefgh.unsway").write_text("{")
    with temporary_name(models / "0.6", folder=True) as living:
        assert sweep(people, tmp_path, [0.3]).strengths == (0.3,)
        assert sorted(models.iterdir()) == sorted([living, models / "0.3"])
    assert not list(tmp_path.glob(".*"))


# --- the sensitive attribute ---------------------------------------------------------------------


def digests_of(z):
    """Return what the store of version 0.1 kept of a column, and kin of it."""
    whole, floats = np.asarray(z), np.asarray(z, dtype=float)
    texts = ["\0".join(map(str, whole.tolist())), "".join(map(str, whole.tolist()))]
    forms = [whole.tobytes(), floats.tobytes(), *(text.encode() for text in texts)]
    return {make(form).hexdigest() for make in (sha256, sha1, md5, blake2b) for form in forms}


@pytest.mark.parametrize("kind", [int, bool, float])
def test_no_digest_of_the_sensitive_attribute_is_kept(kind, people, tmp_path):
    z = people.z.astype(kind)
    found = sweep(replace(people, z=z), tmp_path, [0.3])
    text = "".join(path.read_text() for path in tmp_path.rglob("*") if path.is_file())
    kept = set(re.findall(r"[0-9a-f]{32,128}", text + json.dumps(dict(found.fingerprint))))
    assert len(kept) > 3
    assert not kept & (digests_of(z) | digests_of(people.z))


@pytest.mark.parametrize("rows", [[0], [3, 599]])
def test_another_sensitive_attribute_is_refused_by_its_figures(rows, people, tmp_path):
    sweep(people, tmp_path, [0.0, 0.6])
    z = people.z.copy()
    z[rows] = 1 - z[rows]
    other = replace(people, z=z)
    with pytest.raises(ValueError, match=r"with these sensitive_features, .* is .* and was"):
        sweep(other, tmp_path, [0.0, 0.6, 0.9])
    assert sorted(marks(tmp_path)) == ["0.0", "0.6"]


def test_two_people_who_change_places_are_noticed(people, tmp_path):
    sweep(people, tmp_path, [0.6])
    z = people.z.copy()
    first, second = np.flatnonzero((z == 0) & (people.y == 1))[0], np.flatnonzero(z == 1)[0]
    z[[first, second]] = z[[second, first]]
    with pytest.raises(ValueError, match="holds a sweep of other data"):
        sweep(replace(people, z=z), tmp_path, [0.6])


@pytest.mark.parametrize("options", [{"cv": 2}, {}])
@pytest.mark.parametrize("make", [booster, lambda: FairLogisticRegression(Parity())])
def test_the_same_attribute_is_taken_whatever_the_way(make, options, people, tmp_path):
    for _ in range(2):
        assert sweep(people, tmp_path, [0.3], make(), **options).strengths == (0.3,)


# --- reading only --------------------------------------------------------------------------------


def test_a_finished_sweep_that_cannot_be_written_is_read(people, tmp_path, monkeypatch):
    whole = sweep(people, tmp_path, [0.0, 0.3])

    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    for name in ("mkstemp", "mkdtemp"):
        monkeypatch.setattr(tempfile, name, refuse)
    assert sweep(people, tmp_path, [0.0, 0.3]).points == whole.points
    assert Frontier.load(tmp_path).points == whole.points
    with pytest.raises(OSError, match="cannot be written: Permission denied"):
        sweep(people, tmp_path, [0.6])


KILLED = """
import sys
from unsway import FairXGBClassifier, Parity, Schedule, make_synthetic
from unsway.sweeps import frontier
people = make_synthetic(3_000, random_state=0)
quick = Schedule(ramp_steps=100, patience=50, max_steps=400)
model = FairXGBClassifier(Parity(), params={"max_depth": 2, "eta": .1}, schedule=quick, n_jobs=1)
print("ready", flush=True)
found = frontier(model, people.X, people.y, sensitive_features=people.z,
                 strengths=[round(k * .008, 3) for k in range(120)], effects=False,
                 store=sys.argv[1] if len(sys.argv) > 1 else None)
"""


@pytest.mark.slow
def test_ten_kills_at_random_moments_change_nothing(tmp_path):
    random = np.random.default_rng(0)
    store, kept, killed = tmp_path / "killed", {}, 0
    for _ in range(10):
        command = [sys.executable, "-c", KILLED, store]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout.readline() == "ready\n"
            while len(marks(store)) <= len(kept) and process.poll() is None:
                time.sleep(0.01)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(random.uniform(0, 0.3))
            process.send_signal(signal.SIGKILL)
        killed += process.returncode == -signal.SIGKILL
        assert kept.items() <= marks(store).items()
        kept = marks(store)
    assert killed == 10
    assert 9 < len(kept) < 120
    for folder in (store, tmp_path / "whole"):
        subprocess.run([sys.executable, "-c", KILLED, folder], check=True, stdout=subprocess.PIPE)
    assert kept.items() <= marks(store).items()
    found, whole = (Frontier.load(folder) for folder in (store, tmp_path / "whole"))
    assert figures(found) == figures(whole)
    assert len(found.points) == 120
    for strength in found.strengths:
        one, other = (
            Store(folder).model_folder(strength) for folder in (store, tmp_path / "whole")
        )
        assert one["model.json"] == other["model.json"]


def test_a_point_survives_json():
    parts = {"test": {"auc": float("nan"), "rows": 3}}
    point = Point(strength=0.1, parts=parts, rounds=2, seconds=0.1 + 0.2)
    again = Point.from_dict(json.loads(json.dumps(point.to_dict(), allow_nan=False)))
    assert np.isnan(again.value("auc", "test"))
    assert replace(again, parts={}) == replace(point, parts={})
