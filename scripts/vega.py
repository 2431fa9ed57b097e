"""Write the script that draws the charts of the HTML reports: Vega, Vega-Lite and Vega-Embed.

vl-convert bundles them. The reports read the file, so that only who renews it needs vl-convert.

    python scripts/vega.py
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import vl_convert

#: The version of Vega-Lite in the bundle.
VEGA_LITE = "6.4"
TEMPLATES = Path(__file__).parents[1] / "src" / "unsway" / "report" / "templates"
NOTICE = (
    f"/*! Vega, Vega-Lite {VEGA_LITE}, Vega-Embed and D3, bundled by scripts/vega.py with "
    f"vl-convert {version('vl-convert-python')}; their licences are in vega.LICENSE.txt. */\n"
)


def bundle() -> str:
    """Return the script."""
    return NOTICE + vl_convert.javascript_bundle(vl_version=VEGA_LITE).rstrip() + "\n"


if __name__ == "__main__":
    (TEMPLATES / "vega.js").write_text(bundle(), "utf-8")
