"""Ask pyright which types of the public modules are not stated in full: make verify-types.

Pyright counts every module of an installed package as public. Here only those count that programs of others import:
the modules of `PUBLIC`, and those of all names that `mesocosm` itself exports.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import mesocosm

PUBLIC = (
    "mesocosm.core",
    "mesocosm.agents.technique",
    "mesocosm.environments.sdk",
    "mesocosm.rollouts.sdk",
    "mesocosm.rollouts.graders",
    "mesocosm.testing",
)
FRAMEWORKS = "mesocosm.rollouts.sdk.adapters."
"""Its classes inherit from those of frameworks, which need not be installed."""


def public() -> tuple[str, ...]:
    """Return the names of the public modules and packages."""
    exported = (getattr(mesocosm, name) for name in getattr(mesocosm, "__all__", ()))
    return (
        *PUBLIC,
        *{module for one in exported if (module := getattr(one, "__module__", "")).startswith("mesocosm.")},
    )


def unstated(modules: tuple[str, ...]) -> Iterator[str]:
    """Yield the symbols of the modules whose type pyright does not know in full, with the reasons."""
    # Pyright finds the package through the first Python of the search path.
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    command = ["pyright", "--verifytypes", "mesocosm", "--ignoreexternal", "--outputjson"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    found = json.loads(done.stdout)["typeCompleteness"]
    assert found["symbols"], "pyright has found no symbols: is mesocosm installed beside this Python, and not in place?"
    for symbol in found["symbols"]:
        name = symbol["name"]
        if symbol["isTypeKnown"] or name.startswith(FRAMEWORKS):
            continue
        if any(name == module or name.startswith(f"{module}.") for module in modules):
            yield f"{name}: {'; '.join(reason['message'] for reason in symbol['diagnostics']) or 'not known'}"


if __name__ == "__main__":
    found = sorted(unstated(public()))
    sys.stdout.write("".join(f"{line}\n" for line in found))
    sys.exit(f"{len(found)} public names have a type that is not stated in full" if found else 0)
