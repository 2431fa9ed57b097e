"""Numbers and names as a report writes them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..auditing.numbers import number, points

#: What turns a number into text.
Writer = Callable[[float | None], str]
#: Names longer than this are cut in the middle, both ends kept.
LONGEST_NAME = 60
#: Characters that would change the direction of the text around a name.
_TURNING = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")


def count(value: float | None) -> str:
    """Return a count with thousands.

    Examples
    --------
    >>> count(16281.0)
    '16,281'
    """
    return number(value, 0)


def percent(value: float | None, decimals: int = 1) -> str:
    """Return a share as a percentage.

    Examples
    --------
    >>> percent(0.1234)
    '12.3%'
    """
    text = number(None if value is None else 100 * value, decimals)
    return text if text == "–" else f"{text}%"


def interval(numbers: Mapping[str, Any], write: Writer = points) -> str:
    """Return both ends of an interval, in percentage points or as `write` does; "" without one.

    Examples
    --------
    >>> interval({"low": -0.01, "high": 0.028})
    '−1.0 to +2.8'
    >>> interval({"low": 0.7912, "high": 0.81}, number)
    '0.791 to 0.810'
    """
    ends = (numbers["low"], numbers["high"])
    if any(end is None or not math.isfinite(end) for end in ends):
        return ""
    return " to ".join(map(write, ends))


def estimate(numbers: Mapping[str, Any], write: Writer = points) -> str:
    """Return a number and its interval, in percentage points or as `write` does.

    Examples
    --------
    >>> estimate({"estimate": 0.0184, "low": 0.008, "high": 0.028})
    '+1.8 (+0.8 to +2.8)'
    """
    text, ends = write(numbers["estimate"]), interval(numbers, write)
    return f"{text} ({ends})" if ends else text


def shown(name: Any, longest: int = LONGEST_NAME) -> str:
    r"""Return a name of a column or level in one line, short, and unable to turn its neighbours.

    Examples
    --------
    >>> shown("education\n num"), shown("x" * 100, 9)
    ('education num', 'xxxx…xxxx')
    """
    text = " ".join(_TURNING.sub("", str(name)).split()) or "(empty)"
    if len(text) > longest:
        tail = (longest - 1) // 2
        text = f"{text[: longest - tail - 1]}…{text[-tail:]}"
    return f"\u2068{text}\u2069" if _RIGHT_TO_LEFT.search(text) else text


def distinct(names: Iterable[Any], longest: int = LONGEST_NAME) -> list[str]:
    """Return names as `shown`, numbered where two would look the same.

    Examples
    --------
    >>> distinct(["a" * 30 + "b" + "a" * 30, "a" * 30 + "c" + "a" * 30], 5)
    ['aa…aa', 'aa…aa (2)']
    """
    found: list[str] = []
    seen: dict[str, int] = {}
    for name in names:
        text = shown(name, longest)
        seen[text] = seen.get(text, 0) + 1
        found.append(text if seen[text] == 1 else f"{text} ({seen[text]})")
    return found


def group_name(value: int, level: Any) -> str:
    """Return a group as its level, or as z = 0 and z = 1 where the level says no more.

    Examples
    --------
    >>> group_name(1, "Male"), group_name(0, 0.0)
    ('Male', 'z = 0')
    """
    plain = str(level) in (str(value), str(float(value)), str(bool(value)))
    return f"z = {value}" if plain else shown(level)
