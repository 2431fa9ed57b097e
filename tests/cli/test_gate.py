"""``unsway gate``: one line for each rule, and an exit status."""

import json

import pytest
from click.testing import CliRunner

from unsway.auditing import adverse_impact
from unsway.auditing.gate import check_policy, judge_rules
from unsway.cli.app import app

AUDIT = {
    "rows": {"z=0": 400, "z=1": 600},
    "metrics": [
        {"metric": "auc", "group": "overall", "estimate": 0.8, "low": 0.76},
        {"metric": "auc", "group": "z=1", "estimate": 0.7, "low": None},
    ],
    "causal": {"direct_effect_left": {"estimate": 0.012, "high": 0.03}},
    "verdict": "fine",
}


def passes(**rule):
    (result,) = judge_rules(check_policy({"rule": [{"name": "r", **rule}]}), AUDIT)
    return result.passed


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({"table": "metrics", "where": {"group": "overall"}, "at_least": 0.8}, True),
        (
            {"table": "metrics", "where": {"group": "overall"}, "value": "low", "at_least": 0.8},
            False,
        ),
        ({"table": "metrics", "where": {"metric": "auc"}, "at_least": 0.75}, False),  # both lines
        ({"table": "metrics", "where": {"group": "z=1"}, "value": "low", "at_least": 0}, False),
        ({"table": "metrics", "where": {"group": "z=2"}, "at_least": 0}, False),
        ({"table": "causal.direct_effect_left", "at_most": 0.02}, True),
        ({"table": "causal.direct_effect_left", "value": "high", "at_most": 0.02}, False),
        ({"table": "rows.z=0", "at_least": 400}, True),
        ({"table": "verdict", "equals": "fine"}, True),
        ({"table": "verdict", "at_least": 1}, False),
        ({"table": "nowhere.at.all", "at_least": 1}, False),
        ({"table": "causal.direct_effect_left", "at_least": 0, "at_most": 0.01}, False),
    ],
)  # fmt: skip
def test_a_rule_passes_exactly_where_its_number_is_within_its_limits(rule, expected):
    assert passes(**rule) is expected


def test_a_key_may_have_dots_of_its_own():
    (result,) = judge_rules(
        check_policy({"rule": [{"name": "r", "table": "a.b.c", "equals": 1}]}), {"a.b": {"c": 1}}
    )
    assert result.passed


def test_four_fifths_of_adverse_impact_is_a_rule():
    found = adverse_impact(None, [1, 0, 1, 1], sensitive_features=[1, 1, 0, 0]).to_dict()
    rule = {
        "name": "four fifths", "table": "findings",
        "where": {"measure": "adverse_impact_ratio"}, "at_least": 0.8,
    }  # fmt: skip
    (result,) = judge_rules(check_policy({"rule": [rule]}), found)
    assert str(result) == "FAIL  four fifths: 0.500 (at least 0.8)"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, "must hold a list of"),
        ({"rule": [], "more": 1}, "must hold a list of"),
        ({"rule": [{"name": "a", "table": "b"}]}, "asks for nothing"),
        ({"rule": [{"name": "a", "table": "b", "atleast": 1}]}, "unknown key 'atleast'"),
        ({"rule": [{"table": "b", "at_least": 1}]}, "name must be text"),
        ({"rule": [{"name": "a", "table": "b", "at_least": "1"}]}, "must be a number"),
    ],
)
def test_a_policy_that_says_too_little_or_too_much_is_refused(content, message):
    with pytest.raises(ValueError, match=message):
        check_policy(content)


POLICY = """
[[rule]]
name = "AUC"
table = "metrics"
where = { metric = "auc", group = "overall" }
at_least = 0.7

[[rule]]
name = "direct effect"
table = "causal.direct_effect_left"
value = "high"
at_most = 0.05
"""


def run(tmp_path, policy=POLICY, audit=None):
    (tmp_path / "policy.toml").write_text(policy)
    (tmp_path / "audit.json").write_text(json.dumps(AUDIT) if audit is None else audit)
    words = ["gate", str(tmp_path / "policy.toml"), str(tmp_path / "audit.json")]
    return CliRunner().invoke(app, words, standalone_mode=False)


def test_the_command_prints_a_line_for_each_rule_and_returns_0_or_1(tmp_path):
    done = run(tmp_path)
    assert done.return_value == 0
    assert done.output.splitlines() == [
        "pass  AUC: 0.800 (at least 0.7)", "pass  direct effect: 0.030 (at most 0.05)",
    ]  # fmt: skip
    done = run(tmp_path, POLICY.replace("0.05", "0.02"))
    assert done.return_value == 1
    assert "FAIL  direct effect" in done.output


@pytest.mark.parametrize(
    ("policy", "audit"), [("rule = [", None), (POLICY, "{"), (POLICY, "[1]"), ("a = 1", None)]
)
def test_files_that_cannot_be_read_are_wrong_usage(tmp_path, policy, audit):
    done = run(tmp_path, policy, audit)
    assert done.exception.exit_code == 2


def test_control_characters_of_a_file_do_not_reach_the_terminal(tmp_path):
    audit = json.dumps({**AUDIT, "verdict": "a\x1b[2J\nb"})
    rule = '[[rule]]\nname = "v"\ntable = "verdict"\nequals = "fine"\n'
    done = run(tmp_path, rule, audit)
    assert "\x1b" not in done.output
    assert len(done.output.splitlines()) == 1
