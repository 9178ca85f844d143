"""Where the `osmosis` command line sends and fetches bytes."""

from mesocosm.server.refusal import Refusal
from mesocosm.server.web.guard import is_own_name


def check_transport(base: str) -> None:
    """Raise Refusal unless the command line sends bytes to this address: it wants https, or its own machine."""
    if not base.startswith("https://") and not is_own_name(base.partition("//")[2].partition("/")[0], ()):
        raise Refusal(
            400,
            f"the osmosis command line sends files only with https or to its own machine, and {base} is neither; "
            "put a TLS proxy in front of the server and set public_url, or reach it through a tunnel to localhost",
        )
