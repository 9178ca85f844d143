"""Register a domain from the command line: `python -m bench_common.env_sdk.register FILE [--api URL] [--id ID] …`."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from mesocosm.client.registration import domain_from_script, publish_domain, register_domain, renamed
from mesocosm.core.failure import MesocosmError


def main(arguments: Sequence[str] | None = None) -> int:
    """Register the DOMAIN_CONFIG of a file and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m bench_common.env_sdk.register", description="Register the DOMAIN_CONFIG of a Python file."
    )
    parser.add_argument("file", type=Path, help="Python file that defines DOMAIN_CONFIG")
    parser.add_argument("--api", metavar="URL", help="URL of the platform")
    parser.add_argument("--id", help="id to register under")
    parser.add_argument("--auto-id", action="store_true", help="register under the name of the file's directory")
    parser.add_argument("--publish", action="store_true", help="publish the domain afterwards")
    given = parser.parse_args(arguments)
    try:
        config = domain_from_script(given.file)
        identity = given.id or (given.file.resolve().parent.name if given.auto_id else "")
        config = renamed(config, identity) if identity else config
        register_domain(config, api_url=given.api)
        if given.publish:
            publish_domain(config.id, api_url=given.api)
    except MesocosmError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
