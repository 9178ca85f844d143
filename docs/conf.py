"""Settings of the documentation site, which `make site` builds with Sphinx.

The source is the whole checkout, so that a relative link leads to the same file here and in the repository's browser.
Pages are plain Markdown without directives: what only a site needs is added while they are read.
"""

import importlib
import inspect
import shutil
import types
from collections.abc import Iterator
from pathlib import Path

from sphinx.application import Sphinx

import mesocosm

ROOT = Path(__file__).parents[1]
SECTIONS = {
    "Start": "docs/getting-started docs/results docs/statistics docs/viewer docs/glossary docs/README "
    "examples/README examples/*/README",
    "Evaluate": "docs/environments docs/benchmarks docs/built-in-benchmarks docs/bfcl-rules docs/benchmark-authors "
    "docs/frameworks docs/inspect docs/lm-eval docs/verifiers docs/stepped-environments docs/openenv docs/harbor "
    "docs/mcp docs/importing docs/rollouts docs/eval-configuration docs/datasets docs/graders docs/reviews docs/models "
    "docs/agents docs/executors docs/chaos docs/migrating-rollouts",
    "Serve a team": "docs/platform docs/operate",
    "Reference": (
        "docs/command-line docs/library docs/reference docs/performance docs/comparison docs/releases CHANGELOG"
    ),
    "Contribute": "CONTRIBUTING CODE_OF_CONDUCT AGENTS SECURITY docs/architecture docs/decisions/*",
}
"""The side bar. A page that is in no section is an error of the build."""
REFERENCE = "<!-- site: reference -->"
"""What the reference of the public names is put in place of."""

project = "mesocosm"
version = release = mesocosm.__version__
root_doc = "README"
include_patterns = ["*.md", "docs/**.md", "examples/**README.md"]
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
myst_heading_anchors = 6
suppress_warnings = ["misc.highlighting_failure"]

default_role = "py:obj"
autodoc_class_signature = "separated"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 100
toc_object_entries = False

html_theme = "furo"
html_title = f"mesocosm {release}"
html_copy_source = False
html_show_sphinx = False


def directive(path: str, thing: object) -> str:
    """Return the directive that documents an object of this path."""
    if isinstance(thing, type):
        return f".. autoclass:: {path}\n   :members:"
    return f".. auto{'function' if callable(thing) else 'data'}:: {path}"


def reference(module: types.ModuleType, level: int = 2) -> Iterator[str]:
    """Yield a heading with its documentation for each public name of a module, in the order of `__all__`."""
    for name in getattr(module, "__all__", ()):
        thing = getattr(module, name)
        if isinstance(thing, types.ModuleType):
            yield from chapter(thing, level)
        else:
            yield f"{'#' * level} {name}"
            yield f"```{{eval-rst}}\n{directive(f'{module.__name__}.{name}', thing)}\n```"


def chapter(module: types.ModuleType, level: int = 2) -> Iterator[str]:
    """Yield a heading for a module, what it is for, and its public names below that."""
    yield f"{'#' * level} {module.__name__}"
    yield inspect.getdoc(module) or ""
    yield from reference(module, level + 1)


def complete(_app: Sphinx, page: str, text: list[str]) -> None:
    """Add to a page that was read what only the site has: the side bar, the reference."""
    if page == root_doc:
        for caption, pages in SECTIONS.items():
            listed = "\n".join(pages.split())
            text[0] += f"\n\n```{{toctree}}\n:hidden:\n:glob:\n:caption: {caption}\n\n{listed}\n```\n"
    if REFERENCE in text[0]:
        parts = (*reference(mesocosm), *chapter(importlib.import_module("mesocosm.stats")))
        text[0] = text[0].replace(REFERENCE, "\n\n".join(parts))


def drop_words_of_builtins(
    _app: Sphinx, what: str, _path: str, thing: object, _options: object, lines: list[str]
) -> None:
    """Leave a constant without text instead of explaining what a tuple or a number is."""
    if what == "data" and thing.__doc__ == type(thing).__doc__:
        lines.clear()


def name_first_pages(app: Sphinx, failure: Exception | None) -> None:
    """Let servers find the first page of a folder: a copy of each `README.html` that is called `index.html`."""
    if failure is None:
        for page in app.outdir.rglob("README.html"):
            shutil.copy(page, page.with_name("index.html"))


def setup(app: Sphinx) -> None:
    """Connect the steps above to the build."""
    app.connect("source-read", complete)
    app.connect("autodoc-process-docstring", drop_words_of_builtins)
    app.connect("build-finished", name_first_pages)
