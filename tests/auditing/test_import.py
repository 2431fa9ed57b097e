"""`audit` is the function, whatever was imported before it."""

import subprocess
import sys
from pathlib import Path

import pytest

import unsway

SOURCE = str(Path(unsway.__file__).parents[1])
CALL = """
from unsway import audit
found = audit([0, 1, 0, 1], [0.1, 0.9, 0.2, 0.6], sensitive_features=[0, 0, 1, 1], n_bootstrap=0)
print(found.metrics["auc"].estimate)
import unsway
assert unsway.audit is audit
from unsway.auditing.group_metrics import score_gap
from unsway.auditing import Audit
assert isinstance(found, Audit) and unsway.audit is audit and unsway.score_gap is score_gap
"""


@pytest.mark.parametrize(
    "before",
    [
        "",
        "import unsway.auditing.group_metrics",
        "from unsway import score_gap",
        "from unsway import *",
    ],
)
def test_the_public_name_is_the_function_in_a_fresh_interpreter(before):
    code = f"import sys; sys.path.insert(0, sys.argv[1])\n{before}\n{CALL}"
    command = [sys.executable, "-I", "-W", "error", "-c", code, SOURCE]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout.split()) == (0, ["1.0"]), done.stderr
