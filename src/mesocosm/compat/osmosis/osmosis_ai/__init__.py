"""Replacement for the osmosis-ai package, for rollouts written for it when it is not installed.

The module paths and names that rollouts import resolve to mesocosm's own SDK, by the table in `names`. The directory
above this package is put on the module path. mesocosm itself is located relative to this file, so that other packages
installed beside it do not become importable in the rollout's environment.
"""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path


def _find_mesocosm() -> None:
    """Load the mesocosm package that contains this file; another version on the path might be incompatible."""
    if "mesocosm" in sys.modules:
        return
    folder = Path(__file__).resolve().parents[3]
    spec = spec_from_file_location("mesocosm", folder / "__init__.py", submodule_search_locations=[str(folder)])
    if spec is None or spec.loader is None:
        raise ImportError(f"there is no mesocosm package in {folder}")
    module = module_from_spec(spec)
    sys.modules["mesocosm"] = module
    spec.loader.exec_module(module)


_find_mesocosm()

__version__ = "0.3.0+mesocosm"
"""Version of the interface; the suffix after the plus marks it as a replacement."""

from .names import NameFinder  # noqa: E402 - it is code of this package, and imports nothing of mesocosm

_finder = NameFinder(__name__)
sys.meta_path.insert(0, _finder)
__all__ = [*_finder.exported(""), "__version__"]  # noqa: PLE0604 - from the table
__getattr__ = _finder.getter("")
