"""Sphinx configuration: everything a page needs is in the site, so that it reads offline."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

from sphinx.util.fileutil import copy_asset

import unsway

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
from site_pages import write_pages

project = "unsway"
author = "The unsway developers"
release = version = unsway.__version__
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx_click",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = [
    "_build",
    "api.md",  # becomes reference/modules.md, see site_pages.py
    "gallery",
    *(f"figures/*.{kind}" for kind in ("ipynb", "json", "md5", "py", "zip")),
]
default_role = "code"
templates_path = ["_templates"]

# Text and notebooks
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "cache"
nb_execution_cache_path = str(HERE / "_build" / "notebooks")
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_execution_in_temp = True
nb_merge_streams = True
copybutton_exclude = ".linenos, .gp, .go"
os.environ.setdefault("OMP_NUM_THREADS", "2")

# Reference
napoleon_google_docstring = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_default_options = {
    "exclude-members": "set_fit_request, set_predict_request, set_score_request, "
    "set_decision_function_request, set_predict_proba_request, get_metadata_routing"
}
autosummary_generate = True

# Figures
sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "figures",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "capture_repr": ("_repr_html_",),
    "image_scrapers": ("matplotlib",),
}
# Words in the types of parameters, such as "table", are also the names of several attributes.
suppress_warnings = ["config.cache", "ref.python"]

# Formulas: MathJax as one file that comes with the site
mathjax_path = "tex-svg.js"
mathjax3_config = {"options": {"enableMenu": False}, "svg": {"fontCache": "local"}}

# Pages
html_theme = "pydata_sphinx_theme"
html_title = "unsway"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["labels.js"]
html_show_sourcelink = False
html_sidebars = {"index": []}
html_theme_options = {
    "navbar_align": "left",
    "navbar_end": ["theme-switcher", "versions"],
    "header_links_before_dropdown": 7,
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
#: Versions with a site of their own, the newest first; a static list, no request is made for it.
html_context = {"versions": [release], "default_mode": "auto"}
copyright = f"{author}. BSD-3-Clause"


def copy_mathjax(app, error):
    """Put MathJax into the site."""
    if error is None and app.builder.name == "html":
        package = Path(find_spec("sphinx-mathjax-offline").origin).parent
        copy_asset(package / "static/mathjax/tex-svg.js", Path(app.outdir) / "_static")


def setup(app):
    """Write the pages that come from the package, before any page is read."""
    write_pages(HERE)
    app.connect("build-finished", copy_mathjax)
