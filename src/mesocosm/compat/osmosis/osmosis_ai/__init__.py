"""Replacement for the osmosis-ai package, for rollouts written for it when it is not installed.

Every module path and name that rollouts import exists here and resolves to mesocosm's own SDK. The directory above this
package is put on the module path. mesocosm itself is located relative to this file, so that other packages installed
beside it do not become importable in the rollout's environment.
"""

import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any


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

__all__ = [
    "MissingAPIKeyError",
    "ModelNotFoundError",
    "ProviderRequestError",
    "RubricResult",
    "__version__",
    "evaluate_rubric",
]


def __getattr__(name: str) -> Any:
    import_module(".removed_names", __name__).refuse(name)
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("mesocosm.rollouts.sdk.rubric"), name)
