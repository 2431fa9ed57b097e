"""The propensity score."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import sklearn
from contracts import (
    CONTAINERS,
    KnownScore,
    as_pandas,
    assert_close,
    each_container,
    make_people,
    mixed_columns,
)
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score
from sklearn.model_selection import PredefinedSplit, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.fixes import parse_version

from unsway.datasets import make_synthetic
from unsway.effects import OverlapWarning, Propensity, warn_about_overlap
from unsway.folds import fold_numbers, hold_out
from unsway.tables import take

PEOPLE = make_people(200, seed=5)


def rare_group():
    """Return covariates that say a little about a z that is rare."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 6))
    return X, (rng.random(300) < 0.12 + 0.1 * (X[:, 0] > 0)).astype(float)


def chosen(model):
    """Return the C that the default model settled on."""
    return model.model_[-1].C


def cross_validated(X, z, measure, weights=None):
    """Return a measure for each C, by a search written out a second time."""
    scaled = StandardScaler().fit_transform(X)
    weights = np.ones(len(z)) if weights is None else weights
    new_style = parse_version(sklearn.__version__) >= parse_version("1.8")
    lasso = {"l1_ratio": 1.0} if new_style else {"penalty": "l1"}
    found = {}
    for C in (0.01, 0.1, 1.0, 10.0, 100.0):
        scores = []
        for train, test in PredefinedSplit(fold_numbers(X, z, 5)).split():
            model = LogisticRegression(solver="liblinear", C=C, random_state=0, **lasso)
            model.fit(scaled[train], z[train], weights[train])
            probability = model.predict_proba(scaled[test])[:, 1]
            scores.append(measure(z[test], probability, sample_weight=weights[test]))
        found[C] = np.mean(scores)
    return found


def test_the_true_propensity_of_the_papers_world_is_recovered():
    data = make_synthetic(20_000, random_state=0)
    error = abs(Propensity().fit_predict(data.X, data.z) - data.propensity)
    assert error.max() < 0.1
    assert error.mean() < 0.006


def test_shrinkage_brings_it_nearer_the_truth_than_plain_logistic_regression():
    data = make_synthetic(5_000, random_state=1)
    plain = LogisticRegression(C=np.inf).fit(data.X, data.z).predict_proba(data.X)[:, 1]
    found = Propensity().fit_predict(data.X, data.z)
    assert abs(found - data.propensity).mean() < abs(plain - data.propensity).mean()


def test_c_is_chosen_by_log_loss():
    X, z = rare_group()
    losses = cross_validated(X, z, log_loss)
    assert chosen(Propensity().fit(X, z)) == min(losses, key=losses.get)


def test_c_is_chosen_by_accuracy_where_that_is_asked_for():
    X, z = rare_group()

    def accuracy(truth, scores, sample_weight):
        return accuracy_score(truth, scores > 0.5, sample_weight=sample_weight)

    hits = cross_validated(X, z, accuracy)
    assert chosen(Propensity(scoring="accuracy").fit(X, z)) == max(hits, key=hits.get)


def test_accuracy_can_settle_on_a_constant_where_log_loss_does_not():
    X, z = rare_group()
    spread = {
        name: np.ptp(Propensity(scoring=name).fit_predict(X, z))
        for name in ("accuracy", "log_loss")
    }
    assert spread["accuracy"] == 0.0
    assert spread["log_loss"] > 0.1


def test_c_is_chosen_on_some_rows_where_there_are_many():
    many = make_synthetic(4000, random_state=6)
    some = hold_out(many.X, many.z, 2000 / 4000)
    found = chosen(Propensity(search_rows=500).fit(many.X, many.z))  # a thousand of either level
    assert found == chosen(Propensity().fit(many.X[some], many.z[some]))


def test_the_final_fit_takes_all_rows_whatever_c_is_chosen_on():
    many = make_synthetic(4000, random_state=6)
    few, all_of_them = (Propensity(search_rows=rows).fit(many.X, many.z) for rows in (500, 4000))
    again = Propensity(Cs=(chosen(few),)).fit(many.X, many.z)
    assert_close(few.predict(many.X), again.predict(many.X), 0.0)
    assert_close(few.predict(many.X), all_of_them.predict(many.X), 0.02)


@pytest.mark.parametrize("rows", [0, -5, 2.5, None])
def test_search_rows_that_are_no_count_are_refused(rows):
    with pytest.raises(ValueError, match="search_rows must be an integer of at least 1; got"):
        Propensity(search_rows=rows).fit(PEOPLE.X, PEOPLE.z)


def test_only_the_given_values_of_c_are_tried():
    assert chosen(Propensity(Cs=(0.5,)).fit(PEOPLE.X, PEOPLE.z)) == 0.5


@each_container
def test_a_table_with_holes_texts_categories_and_booleans_is_welcome(container):
    columns, z = mixed_columns()
    scores = Propensity().fit_predict(container(columns), z)
    assert roc_auc_score(z, scores) > 0.75


def scores_by_container(columns, z):
    return [Propensity().fit_predict(build(columns), z) for build in CONTAINERS.values()]


def test_every_container_gives_the_same_scores():
    columns, z = mixed_columns()
    del columns["empty"]
    assert np.ptp(scores_by_container(columns, z), axis=0).max() < 1e-12


def test_a_column_without_any_value_does_not_matter():
    columns, z = mixed_columns()
    given = scores_by_container(columns, z)
    del columns["empty"]
    assert abs(np.subtract(given, scores_by_container(columns, z))).max() < 1e-3


@each_container
def test_a_row_gets_the_same_score_alone_and_among_others(container):
    columns, z = mixed_columns()
    table = container(columns)
    model = Propensity().fit(table, z)
    together = model.predict(table)
    alone = [model.predict(take(table, np.array([row])))[0] for row in range(15)]
    assert_close(alone, together[:15], 1e-12)


@each_container
def test_levels_not_seen_in_fit_do_not_trouble_it(container):
    columns, z = mixed_columns()
    model = Propensity().fit(container(columns), z)
    found = model.predict(container({**columns, "job": ["diver"] * 240, "town": ["west"] * 240}))
    assert ((found > 0) & (found < 1)).all()


def test_a_column_missing_at_predict_is_named():
    columns, z = mixed_columns()
    model = Propensity().fit(as_pandas(columns), z)
    with pytest.raises(ValueError, match=r"X lacks 'hours', which was there in fit"):
        model.predict(as_pandas(columns).drop(columns="hours"))


def test_an_infinite_value_is_refused_by_the_name_of_its_column():
    columns, z = mixed_columns()
    table = as_pandas({**columns, "hours": [float("inf")] * 240})
    with pytest.raises(ValueError, match=r"X contains infinity in 'hours'"):
        Propensity().fit(table, z)


def test_another_classifier_gives_its_own_probabilities():
    found = Propensity(LogisticRegression()).fit_predict(PEOPLE.X, PEOPLE.z)
    plain = LogisticRegression().fit(PEOPLE.X, PEOPLE.z).predict_proba(PEOPLE.X)[:, 1]
    assert_close(found, plain, 1e-12)


def test_another_classifier_gets_the_table_exactly_as_given():
    class Remembers(KnownScore):
        def fit(self, X, z, sample_weight=None):
            self.seen_ = X
            return super().fit(X, z)

    columns, z = mixed_columns()
    table = as_pandas(columns)
    assert Propensity(Remembers()).fit(table, z).model_.seen_ is table


def test_a_classifier_that_takes_categories_gets_them():
    columns, z = mixed_columns()
    table = as_pandas(columns)[["age", "hours", "town"]]
    classifier = HistGradientBoostingClassifier(categorical_features="from_dtype", max_iter=5)
    scores = Propensity(classifier).fit_predict(table, z)
    assert roc_auc_score(z, scores) > 0.7


def test_the_given_classifier_is_not_fitted_itself():
    classifier = LogisticRegression()
    Propensity(classifier).fit(PEOPLE.X, PEOPLE.z)
    assert not hasattr(classifier, "coef_")


def test_without_cross_fitting_a_nearest_neighbour_returns_z_itself():
    found = Propensity(KNeighborsClassifier(1), clip=0.0).fit_predict(PEOPLE.X, PEOPLE.z)
    assert (found == PEOPLE.z).all()


def test_with_cross_fitting_no_row_is_scored_by_a_model_that_saw_it():
    model = Propensity(KNeighborsClassifier(1), clip=0.0, cross_fit=True)
    found = model.fit_predict(PEOPLE.X, PEOPLE.z)
    folds = PredefinedSplit(fold_numbers(PEOPLE.X, PEOPLE.z, 5))
    expected = cross_val_predict(KNeighborsClassifier(1), PEOPLE.X, PEOPLE.z, cv=folds)
    assert (found == expected).all()
    assert (found != PEOPLE.z).sum() > 20


def test_with_cross_fitting_new_rows_are_scored_by_the_model_of_all_rows():
    model = Propensity(KNeighborsClassifier(1), clip=0.0, cross_fit=True)
    model.fit_predict(PEOPLE.X, PEOPLE.z)
    assert (model.predict(PEOPLE.X) == PEOPLE.z).all()


@each_container
def test_cross_fitting_takes_every_container(container):
    columns, z = mixed_columns()
    within = Propensity(Cs=(1.0,)).fit_predict(container(columns), z)
    out_of_fold = Propensity(Cs=(1.0,), cross_fit=True).fit_predict(container(columns), z)
    assert 0.01 < abs(out_of_fold - within).max() < 0.5


def test_the_same_seed_gives_the_same_folds_and_another_seed_others():
    def scores(seed):
        model = Propensity(LogisticRegression(), cross_fit=True, random_state=seed)
        return model.fit_predict(PEOPLE.X, PEOPLE.z)

    assert (scores(1) == scores(1)).all()
    assert (scores(1) != scores(2)).any()


def test_scores_are_kept_within_the_clip():
    X = np.array([[0.0], [0.2], [0.5], [1.0]])
    model = Propensity(KnownScore(), clip=0.1).fit(X, np.array([0.0, 0.0, 1.0, 1.0]))
    assert model.predict(X).tolist() == [0.1, 0.2, 0.5, 0.9]


def test_weights_equal_repeated_rows():
    repeated = PEOPLE.repeated()
    plain = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1_000)
    weighted = Propensity(plain).fit(PEOPLE.X, PEOPLE.z, PEOPLE.weights)
    copied = Propensity(plain).fit(repeated.X, repeated.z)
    assert_close(weighted.predict(PEOPLE.X), copied.predict(PEOPLE.X), 1e-5)


@pytest.mark.parametrize("cross_fit", [False, True])
def test_weights_reach_the_default_model(cross_fit):
    heavy = 1 + 9 * PEOPLE.z
    model = Propensity(Cs=(1.0,), cross_fit=cross_fit)
    raised = model.fit_predict(PEOPLE.X, PEOPLE.z, heavy).mean()
    assert raised > model.fit_predict(PEOPLE.X, PEOPLE.z).mean() + 0.1


@pytest.mark.parametrize("cross_fit", [False, True])
def test_row_order_does_not_matter(cross_fit):
    order = np.random.default_rng(0).permutation(200)
    model = Propensity(cross_fit=cross_fit)
    expected = model.fit_predict(PEOPLE.X, PEOPLE.z)[order]
    assert_close(model.fit_predict(PEOPLE.X[order], PEOPLE.z[order]), expected, 1e-3)


def test_weights_take_part_in_the_choice_of_c():
    X, z = rare_group()
    weights = np.where(X[:, 0] > 0, 1.0, 0.01)  # there X says nothing about z
    losses = cross_validated(X, z, log_loss, weights)
    weighted, plain = Propensity().fit(X, z, weights), Propensity().fit(X, z)
    assert chosen(weighted) == min(losses, key=losses.get) != chosen(plain)


def test_weights_reach_the_last_step_of_a_pipeline():
    heavy = 1 + 9 * PEOPLE.z
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    found = Propensity(pipeline).fit_predict(PEOPLE.X, PEOPLE.z, heavy)
    scaled = StandardScaler().fit_transform(PEOPLE.X)
    expected = LogisticRegression().fit(scaled, PEOPLE.z, heavy).predict_proba(scaled)[:, 1]
    assert_close(found, expected, 1e-10)


@pytest.mark.parametrize("cross_fit", [False, True])
def test_global_metadata_routing_changes_nothing(cross_fit):
    model = Propensity(Cs=(0.1, 1.0), cross_fit=cross_fit)
    expected = model.fit_predict(PEOPLE.X, PEOPLE.z, PEOPLE.weights)
    with sklearn.config_context(enable_metadata_routing=True):
        found = model.fit_predict(PEOPLE.X, PEOPLE.z, PEOPLE.weights)
    assert (found == expected).all()


def test_global_metadata_routing_asks_no_request_of_a_given_pipeline():
    model = Propensity(make_pipeline(StandardScaler(), LogisticRegression()))
    expected = model.fit_predict(PEOPLE.X, PEOPLE.z, PEOPLE.weights)
    with sklearn.config_context(enable_metadata_routing=True):
        found = model.fit_predict(PEOPLE.X, PEOPLE.z, PEOPLE.weights)
    assert (found == expected).all()


@pytest.mark.parametrize(
    ("cross_fit", "rows", "needed"), [(False, 4, 5), (True, 9, 10)], ids=["once", "nested"]
)
def test_a_level_with_too_few_rows_for_the_folds_is_refused_with_the_numbers(
    cross_fit, rows, needed
):
    z = np.zeros(100)
    z[:rows] = 1
    expected = rf"a sensitive level has {rows} rows, but 5-fold.*at least {needed} .*lower cv"
    with pytest.raises(ValueError, match=expected):
        Propensity(cross_fit=cross_fit).fit(PEOPLE.X[:100], z)


def test_as_many_rows_as_folds_are_enough():
    z = np.zeros(100)
    z[:5] = 1
    assert Propensity(Cs=(1.0,)).fit(PEOPLE.X[:100], z).predict(PEOPLE.X).shape == (200,)


def test_an_unknown_scoring_is_refused_with_the_choices():
    with pytest.raises(ValueError, match=r"unknown scoring 'auc'; choose from log_loss, accuracy"):
        Propensity(scoring="auc").fit(PEOPLE.X, PEOPLE.z)


@pytest.mark.parametrize("clip", [-0.1, 0.5, float("nan")])
def test_a_clip_outside_its_range_is_refused_with_its_value(clip):
    with pytest.raises(
        ValueError, match=rf"clip must be a finite number of at least 0 and below 0.5; got {clip}"
    ):
        Propensity(clip=clip).fit(PEOPLE.X, PEOPLE.z)


def test_a_propensity_that_is_not_fitted_says_so():
    with pytest.raises(NotFittedError, match="Propensity"):
        Propensity().predict(PEOPLE.X)


def test_overlap_is_warned_of_only_beyond_the_stated_share():
    scores = np.array([0.01, 0.04, 0.96, 0.5, 0.5])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_about_overlap(scores, max_share=0.6)
    with pytest.warns(OverlapWarning, match=r"60% of the propensities lie outside.*than 50%"):
        warn_about_overlap(scores, max_share=0.5)


def test_the_borders_of_overlap_are_the_callers():
    with pytest.warns(OverlapWarning, match=r"100% .* outside \[0.4, 0.6\]"):
        warn_about_overlap(np.array([0.3, 0.7]), low=0.4, high=0.6)


def test_the_warning_says_what_it_means_and_what_to_do():
    scores = np.array([0.01, 0.99, 0.5])
    for options, models in (({}, "outcome models"), ({"extrapolated_by": "a guess"}, "a guess")):
        expected = rf"67% .* extrapolated by (the )?{models}: too much or too little .*Drop columns"
        with pytest.warns(OverlapWarning, match=expected):
            warn_about_overlap(scores, **options)
