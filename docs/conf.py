"""Settings of the documentation site, which ``make docs`` builds into ``build/site``."""

import os
import sys
import warnings
from pathlib import Path

os.environ.setdefault("MPLBACKEND", "agg")
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")  # pages are built by one process for each core

import equirate  # noqa: E402  # after the settings of threads

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "docs" / "_ext"))

from docstring_checks import CHECKS, EXEMPT  # noqa: E402  # from the folder above

# Sphinx imports names as they are written in the API reference, and these modules have another path inside.
for _name in ("algorithms", "baselines"):
    sys.modules[f"equirate.{_name}"] = getattr(equirate, _name)

project = "equirate"
author = "the equirate contributors"
copyright = "the equirate contributors, Apache 2.0"
version = release = equirate.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "measured",
]
exclude_patterns = ["_build", "_ext", "gallery/**/*.ipynb", "gallery/**/*.py.md5"]
default_role = "autolink"  # `name` in a docstring is a link, where there is such a name
templates_path = ["_templates"]
suppress_warnings = ["config.cache"]  # sphinx-gallery's settings hold functions

# -- Markdown --------------------------------------------------------------------------------------

myst_enable_extensions = ["amsmath", "attrs_block", "attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
myst_links_external_new_tab = False

# -- API reference ---------------------------------------------------------------------------------

autosummary_generate = True
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"  # docstrings say what is taken in words
autodoc_default_options = {"members": True, "inherited-members": True, "member-order": "bysource"}
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
numpydoc_validation_checks = CHECKS
numpydoc_validation_exclude = set(EXEMPT)

# -- gallery ---------------------------------------------------------------------------------------

warnings.filterwarnings("ignore", category=UserWarning, message=".*FigureCanvasAgg is non-interactive.*")
sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "backreferences_dir": "api/backreferences",
    "doc_module": ("equirate",),
    "filename_pattern": rf"/plot_.*{os.environ.get('EQUIRATE_GALLERY', '')}",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
    "min_reported_time": 1,
    "write_computation_times": False,  # that page loads its tables from other hosts
    "thumbnail_size": (400, 280),
    "image_scrapers": ("matplotlib",),
    "matplotlib_animations": False,
    "reset_modules": ("matplotlib", "gallery_style.reset"),
    "reset_modules_order": "before",
}

# -- HTML ------------------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = "equirate"
html_static_path = ["_static", os.environ.get("EQUIRATE_SITE_STATIC", str(ROOT / ".venv" / "site-static"))]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_show_search_summary = False  # summaries are fetched, which pages opened from a folder may not do
html_copy_source = False
html_theme_options = {
    "navbar_align": "left",
    "show_nav_level": 1,
    "navigation_depth": 2,
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
    "article_footer_items": [],
    "footer_start": ["copyright"],
    "footer_center": [],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_context = {"default_mode": "auto"}
html_sidebars = {"index": [], "measurements": [], "glossary": []}

# MathJax is part of the build, so that no page asks another host: `make docs` puts it there.
mathjax_path = "mathjax/tex-chtml.js"

_MODULES = "algorithms|baselines|boosting|datasets|distributed|mixtures|mlflow|models|torch"
nitpick_ignore_regex = [("py:obj", rf"equirate(\.({_MODULES}))?")]  # modules have no page of their own
nitpick_ignore = [("py:obj", "distributed.Client")]  # of another library, whose pages would have to be asked


def _skip_inherited(app, what, name, obj, skip, options):
    """Leave out what scikit-learn and exceptions bring: routing of metadata, parameters, ``with_traceback``."""
    module = getattr(obj, "__module__", None) or ""
    if type(obj).__name__ in {"builtin_function_or_method", "method_descriptor"}:
        return True  # methods of str and of tuple
    if module.startswith("sklearn") or name in {"args", "add_note", "with_traceback"}:
        return True
    return None


def setup(app):
    """Connect the hooks."""
    app.connect("autodoc-skip-member", _skip_inherited)
