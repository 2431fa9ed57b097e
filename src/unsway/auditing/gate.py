"""Rules on the numbers of an audit, so that a pipeline can stop where one fails.

A policy is a TOML file with a list of rules::

    [[rule]]
    name = "AUC"
    table = "metrics"                                 # a path in the JSON of the audit
    where = { metric = "auc", group = "overall" }     # which line of the table
    value = "low"                                     # "estimate" if left out
    at_least = 0.7

A rule without ``where`` is about a single number. A number that is not there fails its rule.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .numbers import number

#: What a rule may ask of a number.
LIMITS = ("at_least", "at_most", "equals")
_KEYS = ("name", "table", "where", "value", *LIMITS)
_ROUNDING = 1e-12


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One rule of a policy.

    Parameters
    ----------
    name, table : str
        What it is called, and the path of its number or table in the JSON, with dots.
    where : mapping
        Which lines of the table it is about; every one of them must pass.
    value : str, default="estimate"
        The column of the table, or the key of the number.
    at_least, at_most : float, optional
        Limits of a number.
    equals : optional
        What a value must be.
    """

    name: str
    table: str
    where: Mapping[str, Any] = field(default_factory=dict)
    value: str = "estimate"
    at_least: float | None = None
    at_most: float | None = None
    equals: Any = None


@dataclass(frozen=True, kw_only=True)
class RuleResult:
    """Whether a rule passed, and on which number.

    Parameters
    ----------
    rule : Rule
    passed : bool
    found : str
        The number, or why there is none.
    """

    rule: Rule
    passed: bool
    found: str

    def __str__(self) -> str:
        limits = [
            f"{name.replace('_', ' ')} {getattr(self.rule, name)}"
            for name in LIMITS
            if getattr(self.rule, name) is not None
        ]
        state = "pass" if self.passed else "FAIL"
        return f"{state}  {self.rule.name}: {self.found} ({', '.join(limits)})"


def read_policy(path: str | Path) -> tuple[Rule, ...]:
    """Return the rules of a TOML file, or say what is wrong with it."""
    try:
        content = tomllib.loads(Path(path).read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is no policy: {error}") from error
    return check_policy(content, str(path))


def check_policy(content: Mapping[str, Any], place: str = "the policy") -> tuple[Rule, ...]:
    """Return the rules of a policy, or say which is wrong.

    Examples
    --------
    >>> check_policy({"rule": [{"name": "rows", "table": "rows.z=0", "at_least": 100}]})[0].at_least
    100
    """
    unknown = sorted(set(content) - {"rule"})
    rules = content.get("rule")
    if unknown or not isinstance(rules, list) or not rules:
        raise ValueError(f"{place} must hold a list of [[rule]] and nothing else")
    return tuple(_rule(each, f"{place}, rule {k}") for k, each in enumerate(rules, start=1))


def _rule(given: Any, place: str) -> Rule:
    if not isinstance(given, Mapping):
        raise ValueError(f"{place} must be a table of names and values")
    unknown = sorted(set(given) - set(_KEYS))
    if unknown:
        raise ValueError(f"{place}: unknown key {unknown[0]!r}; it has {', '.join(_KEYS)}")
    for key in ("name", "table"):
        if not isinstance(given.get(key), str) or not given[key]:
            raise ValueError(f"{place}: {key} must be text")
    if not isinstance(given.get("where", {}), Mapping):
        raise ValueError(f"{place}: where must be a table, as {{ metric = 'auc' }}")
    if not any(name in given for name in LIMITS):
        raise ValueError(f"{place} asks for nothing; give {', '.join(LIMITS)}")
    for name in ("at_least", "at_most"):
        if name in given and (isinstance(given[name], bool) or not _is_number(given[name])):
            raise ValueError(f"{place}: {name} must be a number; got {given[name]!r}")
    return Rule(**given)


def judge_rules(rules: Sequence[Rule], content: Mapping[str, Any]) -> tuple[RuleResult, ...]:
    """Return the result of each rule on the JSON of an audit.

    Parameters
    ----------
    rules : sequence of Rule
    content : mapping
        What `Audit.to_dict`, `AdverseImpact.to_dict` or another result gave.

    Returns
    -------
    tuple of RuleResult

    Examples
    --------
    >>> rules = check_policy({"rule": [{"name": "AUC", "table": "auc", "at_least": 0.7}]})
    >>> [str(each) for each in judge_rules(rules, {"auc": {"estimate": 0.75}})]
    ['pass  AUC: 0.750 (at least 0.7)']
    """
    return tuple(_judge(rule, content) for rule in rules)


def _judge(rule: Rule, content: Mapping[str, Any]) -> RuleResult:
    try:
        values = _values(rule, _at(content, rule.table))
    except LookupError as error:
        return RuleResult(rule=rule, passed=False, found=str(error.args[0]))
    shown = ", ".join(number(each) if _is_number(each) else str(each) for each in values[:5])
    more = f" and {len(values) - 5} more" if len(values) > 5 else ""
    return RuleResult(
        rule=rule, passed=all(_passes(rule, each) for each in values), found=shown + more
    )


def _at(content: Any, path: str) -> Any:
    """Return what a path leads to; a key may have dots of its own."""
    if path in (content if isinstance(content, Mapping) else ()):
        return content[path]
    head, dot, rest = path.partition(".")
    while dot:
        if isinstance(content, Mapping) and head in content:
            return _at(content[head], rest)
        more, dot, rest = rest.partition(".")
        head = f"{head}.{more}"
    raise LookupError(f"there is no {path!r}")


def _values(rule: Rule, found: Any) -> list[Any]:
    """Return the values a rule is about; at least one."""
    if isinstance(found, list):
        lines = [
            each
            for each in found
            if isinstance(each, Mapping)
            and all(_same(each.get(key), wanted) for key, wanted in rule.where.items())
        ]
        if not lines:
            raise LookupError(f"{rule.table} has no line where {dict(rule.where)}")
        if any(rule.value not in each for each in lines):
            raise LookupError(f"{rule.table} has no column {rule.value!r}")
        return [each[rule.value] for each in lines]
    if isinstance(found, Mapping):
        if rule.value not in found:
            raise LookupError(f"{rule.table} has no {rule.value!r}")
        return [found[rule.value]]
    return [found]


def _same(value: Any, wanted: Any) -> bool:
    if _is_number(value) and _is_number(wanted):
        return bool(abs(value - wanted) <= _ROUNDING * max(1.0, abs(wanted)))
    return bool(value == wanted)


def _passes(rule: Rule, value: Any) -> bool:
    if rule.equals is not None and not _same(value, rule.equals):
        return False
    if rule.at_least is None and rule.at_most is None:
        return True
    if not _is_number(value) or isinstance(value, bool):
        return False  # unknown numbers pass no limit
    low = rule.at_least is None or value >= rule.at_least
    return bool(low and (rule.at_most is None or value <= rule.at_most))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
