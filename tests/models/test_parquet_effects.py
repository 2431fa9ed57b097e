"""Effects on Parquet files: those of the same table in memory, and clear refusals."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from unsway import Grouping, estimate_effects, estimate_effects_parquet, make_world
from unsway.effects import MEANINGS
from unsway.models.external import draw_rows
from unsway.models.parquet import ParquetRows
from unsway.models.parquet_effects import EffectSettings, nuisances_of_files

xgboost = pytest.importorskip("xgboost")

N = 3_000
ROLES = {"target": "hired", "sensitive": "sex", "max_extreme_share": 1, "n_jobs": 1}


def people(n=N, world="varying_effect", seed=0):
    """Return the table of a world, with gaps and a category, and the world."""
    world = make_world(world, n, random_state=seed)
    columns = {f"x{k}": np.round(world.X[:, k], 2) for k in range(world.X.shape[1])}
    columns["x1"] = pa.array(columns["x1"], mask=np.arange(n) % 9 == 0)
    columns["job"] = np.where(world.X[:, 0] > 0, "cook", "clerk")
    columns |= {"weight": 1.0 + np.arange(n) % 3, "hired": world.y, "sex": world.z}
    return pa.table(columns), world


def written(folder, table, files=1):
    step = -(-len(table) // files)
    for number in range(files):
        parquet.write_table(table.slice(number * step, step), folder / f"{number}.parquet")
    return folder


def estimates(effects):
    return np.array([each.estimate for each in effects.estimates().values()])


def test_the_effects_are_those_of_the_same_predictions_in_memory(tmp_path):
    table, _ = people()
    found = estimate_effects_parquet(written(tmp_path, table), sample_weight="weight", **ROLES)
    X = table.drop_columns(["hired", "sex", "weight"])
    in_memory = estimate_effects(
        X,
        table["hired"],
        sensitive_features=table["sex"],
        sample_weight=table["weight"],
        nuisances=found.nuisances,
        max_extreme_share=1,
    )
    assert found.to_dict() == in_memory.to_dict()


def test_files_and_the_order_of_rows_do_not_matter(tmp_path):
    table, _ = people()
    (one, several) = (tmp_path / name for name in ("one", "several"))
    one.mkdir()
    several.mkdir()
    first = estimate_effects_parquet(written(one, table), drop="weight", sample_rows=1_200, **ROLES)
    mixed = table.take(np.random.default_rng(0).permutation(N))
    files = written(several, mixed, 3)
    second = estimate_effects_parquet(files, drop="weight", sample_rows=1_200, **ROLES)
    np.testing.assert_allclose(estimates(first), estimates(second), rtol=0, atol=1e-6)


def with_labels(folder, table, y):
    """Return the files of a table with other labels, and their rows."""
    labelled = table.set_column(table.column_names.index("hired"), "hired", pa.array(y))
    files = ParquetRows.of(written(folder, labelled), leave_out=["hired", "sex", "weight"])
    return files, files.rows("hired", "sex", None, None)


def test_labels_of_rows_that_are_not_sampled_change_no_prediction(tmp_path):
    table, _ = people()
    settings = EffectSettings(sample_rows=1_000, max_extreme_share=1, n_jobs=1)
    y = table["hired"].to_numpy()

    def outside(labels):
        files, rows = with_labels(tmp_path, table, labels)
        return ~draw_rows(files, files.engine_table(), rows, (1_000 / N,), 0)[0]

    free = outside(y) & outside(1 - y)  # whatever the label: a row is drawn by what it holds
    assert free.sum() > 500
    first, second = (
        nuisances_of_files(*with_labels(tmp_path, table, labels), settings).everyone
        for labels in (y, np.where(free, 1 - y, y))
    )
    np.testing.assert_array_equal(first.propensity, second.propensity)
    np.testing.assert_array_equal(first.outcome, second.outcome)


@pytest.mark.parametrize("sample_rows", [30_000, 6_000])
def test_intervals_hold_the_truth_of_a_world(tmp_path, sample_rows):
    table, world = people(30_000)
    files = written(tmp_path, table, 2)
    found = estimate_effects_parquet(files, drop="weight", sample_rows=sample_rows, **ROLES)
    for name in ("direct_reference", "direct_group", "direct_everyone", "total"):
        each, truth = getattr(found, name), getattr(world.effects, name)
        assert abs(each.estimate - truth) < 4 * each.se, name
    assert found.direct_effect_left(world.fair_score).low < 0.02


def test_amounts_do_not_depend_on_their_unit(tmp_path):
    table, world = people(world="wages", n=2_000)
    places = [tmp_path / "one", tmp_path / "thousand"]
    found = []
    for place, unit in zip(places, (1.0, 1_000.0), strict=True):
        place.mkdir()
        scaled = table.set_column(
            table.column_names.index("hired"), "hired", pa.array(unit * world.y)
        )
        files = written(place, scaled)
        effects = estimate_effects_parquet(files, drop="weight", loss="squared_error", **ROLES)
        found.append(estimates(effects) / unit)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-4)


def test_counts_with_exposure_are_taken_per_year(tmp_path):
    world = make_world("claims", 3_000, random_state=0)
    columns = {f"x{k}": world.X[:, k] for k in range(world.X.shape[1])}
    table = pa.table({**columns, "claims": world.y, "sex": world.z, "years": world.exposure})
    found = estimate_effects_parquet(
        written(tmp_path, table), target="claims", sensitive="sex", exposure="years",
        loss="poisson", max_extreme_share=1, n_jobs=1,
    )  # fmt: skip
    assert found.as_ratios().direct_everyone.low < 1.34 < found.as_ratios().direct_everyone.high


def test_every_effect_has_its_name(tmp_path):
    table, _ = people(1_000)
    found = estimate_effects_parquet(written(tmp_path, table), drop=["weight"], **ROLES)
    assert list(found.estimates()) == list(MEANINGS)
    assert found.settings["n_rows"] == 1_000


def test_a_reference_is_what_a_grouping_says(tmp_path):
    table, _ = people(1_000)
    files = written(tmp_path, table)
    plain = estimate_effects_parquet(files, drop="weight", **ROLES)
    turned = estimate_effects_parquet(files, drop="weight", groups=Grouping(reference=1), **ROLES)
    assert turned.total.estimate == pytest.approx(-plain.total.estimate)


def test_a_copy_of_the_sensitive_attribute_is_refused_by_name(tmp_path):
    table, _ = people(1_000)
    copied = table.append_column("gender", table["sex"])
    with pytest.raises(ValueError, match="'gender'"):
        estimate_effects_parquet(written(tmp_path, copied), drop="weight", **ROLES)


def test_three_levels_are_refused_with_a_way_out(tmp_path):
    table, _ = people(1_000)
    three = pa.array(np.arange(1_000) % 3)
    other = table.set_column(table.column_names.index("sex"), "sex", three)
    with pytest.raises(ValueError, match="3 levels; effects on files are those between two"):
        estimate_effects_parquet(written(tmp_path, other), drop="weight", **ROLES)


def test_a_column_has_one_role(tmp_path):
    with pytest.raises(ValueError, match="must be different columns"):
        estimate_effects_parquet(tmp_path, target="sex", sensitive="sex")


def test_a_level_whose_label_is_always_the_same_is_refused(tmp_path):
    table, _ = people(1_000)
    y = np.where(table["sex"].to_numpy() == 1, 1, table["hired"].to_numpy())
    other = table.set_column(table.column_names.index("hired"), "hired", pa.array(y))
    with pytest.raises(ValueError, match="y is the same for every row of sensitive level '1'"):
        estimate_effects_parquet(written(tmp_path, other), drop="weight", **ROLES)
