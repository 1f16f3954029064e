"""Sphinx: pages in Markdown (MyST), the Python reference from docstrings, warnings are errors."""  # noqa: INP001

from memanto import __version__

project = "memanto"
author = "The memanto authors"
copyright = "the memanto authors, Apache-2.0"  # noqa: A001 - the name Sphinx reads
release = version = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"memanto {release}"
html_show_sphinx = False

myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3

# Docstrings are Markdown: one backtick marks code, as it does there.
default_role = "code"
napoleon_use_rtype = False
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
