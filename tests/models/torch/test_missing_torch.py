"""Without PyTorch the names load, and using them names the extra."""

import subprocess
import sys
from pathlib import Path

import unsway

SOURCE = str(Path(unsway.__file__).parents[1])
WITHOUT_TORCH = """
import sys
sys.path.insert(0, sys.argv[1])

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
from unsway.models.torch import FairLoss, FairTorchClassifier
"""


def test_a_missing_torch_is_named_with_its_pip_line_before_any_work():
    code = WITHOUT_TORCH + (
        "for use in (FairLoss, lambda: FairTorchClassifier().fit(None, None)):\n"
        "    try: use()\n"
        "    except ImportError as error: print(error)\n"
    )
    command = [sys.executable, "-I", "-W", "error", "-c", code, SOURCE]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    line = "torch is not installed; run: pip install 'unsway[torch]'"
    assert done.stdout.splitlines() == [line, line]
