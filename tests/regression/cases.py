"""Every case of the recording, by name."""

from __future__ import annotations

from regression import (
    cases_audit,
    cases_boosting,
    cases_checks,
    cases_cli,
    cases_core,
    cases_data,
    cases_effects,
    cases_frontier,
    cases_logistic,
    cases_networks,
    cases_scale,
    cases_wrappers,
)
from regression.registry import Case

MODULES = (
    cases_core,
    cases_data,
    cases_logistic,
    cases_boosting,
    cases_wrappers,
    cases_networks,
    cases_effects,
    cases_checks,
    cases_audit,
    cases_frontier,
    cases_scale,
    cases_cli,
)


def all_cases() -> dict[str, Case]:
    """Return the cases by name, each once."""
    found: dict[str, Case] = {}
    for module in MODULES:
        for case in module.cases():
            if case.name in found:
                raise ValueError(f"two cases are named {case.name!r}")
            found[case.name] = case
    return found


CASES = all_cases()
