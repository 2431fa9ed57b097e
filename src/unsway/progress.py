"""A line of progress for long calls: a bar in a notebook, text in a terminal."""

from __future__ import annotations

import html
import sys
import time
from typing import Any

#: Seconds between two updates at least.
_PAUSE = 0.1


class ShowProgress:
    """Shows how far a call is; give it as ``progress`` or as ``callback``.

    Parameters
    ----------
    label : str, default="Done"
        What is counted.

    Examples
    --------
    >>> import sys
    >>> from contextlib import redirect_stderr
    >>> show = ShowProgress("Resamples")
    >>> with redirect_stderr(sys.stdout):
    ...     show(2, 2)
    Resamples: 2 of 2
    """

    def __init__(self, label: str = "Done") -> None:
        self.label = label
        self._shown_at = 0.0
        self._handle: Any = None

    def __call__(self, *args: Any) -> None:
        """Show what a call reports: steps done and their number, or a step of a training."""
        *_, done, total = (None, *args) if len(args) > 1 else (getattr(args[0], "number", 0), None)
        finished = total is not None and done >= total
        now = time.monotonic()
        if not finished and now - self._shown_at < _PAUSE:
            return
        self._shown_at = now
        text = f"{self.label}: {done}" + ("" if total is None else f" of {total}")
        if in_notebook():
            self._show_bar(text, done, total)
        else:
            print(f"\r{text}", end="\n" if finished else "", file=sys.stderr, flush=True)

    def _show_bar(self, text: str, done: int, total: int | None) -> None:
        from IPython.display import HTML, display

        amount = "" if total is None else f' value="{done:d}" max="{total:d}"'
        bar = HTML(f"<progress{amount}></progress> {html.escape(text)}")
        if self._handle is None:
            self._handle = display(bar, display_id=True)
        else:
            self._handle.update(bar)


def in_notebook() -> bool:
    """Return whether this runs in a kernel that shows HTML."""
    python = sys.modules.get("IPython")
    shell = None if python is None else python.get_ipython()
    return shell is not None and getattr(shell, "kernel", None) is not None
