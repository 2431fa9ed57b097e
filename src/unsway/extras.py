"""Optional packages, loaded when first needed."""

from importlib import import_module
from types import ModuleType


class MissingExtraError(ImportError):
    """An optional package is not installed; the message ends with the line that installs it."""


def load(module: str, extra: str) -> ModuleType:
    """Import an optional module, or say how to install it.

    Examples
    --------
    >>> load("gone", "plot")
    Traceback (most recent call last):
    unsway.extras.MissingExtraError: gone is not installed; run: pip install 'unsway[plot]'
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingExtraError(
            f"{package} is not installed; run: pip install 'unsway[{extra}]'"
        ) from error
