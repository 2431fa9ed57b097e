"""The script that draws the charts is the one that scripts/vega.py writes."""

import importlib.util
import re
from importlib.metadata import version
from pathlib import Path

import pytest

from unsway.report.html import read_template

pytest.importorskip("vl_convert", reason="it bundles the script")
SCRIPT = Path(__file__).parents[2] / "scripts" / "vega.py"


def test_the_script_of_the_reports_is_the_one_that_vl_convert_bundles():
    stored = read_template("vega.js")
    made_with = re.search(r"with vl-convert (\S+);", stored[:300]).group(1)
    if not SCRIPT.exists() or made_with != version("vl-convert-python"):
        pytest.skip(f"the script was bundled by vl-convert {made_with}")
    spec = importlib.util.spec_from_file_location("vega", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.bundle() == stored


def test_the_licences_of_the_script_come_with_it():
    assert "vega.LICENSE.txt" in read_template("vega.js")[:300]
    assert "Interactive Data Lab" in read_template("vega.LICENSE.txt")
