"""The documentation site: ``sphinx-build -W -b html docs build/site``."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

import reference_pages
import site_sources

import bnpriv
from tutorials.execute import ADULT, OF_NO_CONCERN, TIMEOUT, missing, notebooks

project = "bnpriv"
author = "The bnpriv developers"
copyright = "The bnpriv developers, Apache License 2.0"
version = release = bnpriv.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
    "sphinx_design",
    "sphinx_copybutton",
]
templates_path = ["_templates"]
exclude_patterns = ["README.md"]
highlight_language = "none"

myst_enable_extensions = ["amsmath", "colon_fence", "dollarmath", "deflist"]
myst_heading_anchors = 4
myst_links_external_new_tab = False

# Tutorials run while the site is built; a cell that raises ends the build. What has run is kept in build/ until a code
# cell changes. One that needs files which are not here is shown as it was stored.
nb_execution_mode = "cache"
os.environ.setdefault("BNPRIV_ADULT", str(ADULT.resolve()))  # a tutorial runs from a copy, in another folder
nb_execution_cache_path = str(site_sources.ROOT / "build" / "notebooks")
nb_execution_raise_on_error = True
nb_execution_timeout = TIMEOUT
nb_execution_show_tb = True
nb_execution_excludepatterns = [f"tutorials/{path.name}" for path in notebooks() if missing(path)]
nb_merge_streams = True
nb_output_stderr = "remove"
nb_render_image_options = {"alt": "what the code above this picture draws"}
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(site_sources.ROOT), os.environ.get("PYTHONPATH")]))
os.environ["BNPRIV_PROGRESS"] = "off"  # bars depend on the machine
os.environ["PYTHONWARNINGS"] = ",".join(f"ignore:{start}" for start in OF_NO_CONCERN)

autosummary_generate = True
autosummary_imported_members = True
autodoc_typehints = "none"  # types stand in the docstrings, in words
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
napoleon_use_param = False  # types are words, not names to link
add_module_names = False
toc_object_entries_show_parents = "hide"
python_maximum_signature_line_length = 80

html_theme = "pydata_sphinx_theme"
html_title = "bnpriv"
# MathJax as files: of the package only its files are used, as it does not know of builds in parallel
MATHJAX = importlib.util.find_spec("sphinx-mathjax-offline")
html_static_path = ["_static", str(Path(MATHJAX.origin).parent / "static")]
mathjax_path = "mathjax/tex-chtml.js"
html_css_files = ["site.css"]
html_js_files = ["names.js"]
html_show_sourcelink = False
html_search_scorer = str(Path(__file__).parent / "_static" / "scorer.js")
html_copy_source = False
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_toc_level": 2,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "default",
}

# Other hosts cannot be reached from where the checks run: only links within the site are followed.
linkcheck_ignore = [r"https?://"]
linkcheck_anchors = True

site_sources.copy_in()
reference_pages.write()


def setup(app: Any) -> None:
    """Links of the repository, and of docstrings, lead to pages of the site."""
    app.connect("source-read", site_sources.on_source_read)
    app.connect("autodoc-process-docstring", site_sources.before_napoleon, priority=400)
    app.connect("autodoc-process-docstring", site_sources.after_napoleon, priority=600)
