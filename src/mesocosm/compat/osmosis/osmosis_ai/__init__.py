"""Stands in for the osmosis-ai package where a rollout is written for it and it is not installed.

Every module path and name that rollouts import is here and leads to mesocosm's own SDK. The directory above this
package is put on the module path; mesocosm itself is found by its place, so that nothing else that is installed beside
it comes along into the rollout's environment.
"""

import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any


def _find_mesocosm() -> None:
    """Load the mesocosm package that this file belongs to; another version on the path would not fit it."""
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
"""The version of the interface; what follows the plus says that this is a stand-in."""

__all__ = [
    "MissingAPIKeyError",
    "ModelNotFoundError",
    "ProviderRequestError",
    "RubricResult",
    "__version__",
    "evaluate_rubric",
]


def __getattr__(name: str) -> Any:
    import_module("mesocosm.rollouts.sdk.removed_names").refuse(name)
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("mesocosm.rollouts.sdk.rubric"), name)
