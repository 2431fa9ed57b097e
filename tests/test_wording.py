"""What the package says to people, read as text."""

import ast
import re
from pathlib import Path

import pytest

import unsway

SOURCE = Path(unsway.__file__).parent
ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    *(
        page
        for page in sorted((ROOT / "docs").rglob("*.md"))
        if not {"_build", "generated", "results"} & {*page.parts}
    ),
    *sorted(SOURCE.rglob("*.toml")),
]
#: A high score may be a loan or a suspicion of fraud: the library does not know whom it favours
#: until the favourable label is stated. One function words it then; tests/auditing/test_verdict.py
#: checks that it is silent otherwise.
WORDED_IN = ("verdict_sentences.py", "_whom")
VALUE_WORDS = re.compile(
    r"favou?rs?\b|favou?red|in favou?r of|advantag|benefit|privileged|\bleans|better off|worse off",
    re.IGNORECASE,
)
#: Words that these pages once used in a sense of their own; standard terms replace them.
PRIVATE_WORDS = re.compile(
    r"\b(rooms?|manners|nouns?|beside|told|telling|handed|roads|who is who|honest|evened out"
    r"|held to|taken out|one's own|afresh|peers)\b|\bof ours\b|\bthe house\b|in plain words",
    re.IGNORECASE,
)


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: path.name)
def test_no_text_of_the_package_says_whom_a_score_favours(path):
    tree = ast.parse(path.read_text("utf-8"))
    if path == SOURCE / "auditing" / WORDED_IN[0]:
        tree.body = [each for each in tree.body if getattr(each, "name", "") != WORDED_IN[1]]
    texts = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    assert [text for text in texts if VALUE_WORDS.search(text)] == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_no_page_says_whom_a_score_favours(path):
    lines = path.read_text("utf-8").splitlines()
    assert [line for line in lines if VALUE_WORDS.search(line)] == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_no_page_uses_a_private_word(path):
    lines = path.read_text("utf-8").splitlines()
    assert [line for line in lines if PRIVATE_WORDS.search(line)] == []
