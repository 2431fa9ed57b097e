"""Sphinx configuration."""

import unsway

project = "unsway"
author = "The unsway developers"
release = unsway.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
]
myst_enable_extensions = ["dollarmath"]
html_theme = "furo"
html_title = "unsway"
exclude_patterns = ["_build"]
default_role = "code"
napoleon_google_docstring = False
autodoc_member_order = "bysource"
autodoc_default_options = {"exclude-members": "set_fit_request, set_predict_request"}
