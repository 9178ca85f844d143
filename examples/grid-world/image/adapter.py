"""Serve the grid world as pictures: python adapter.py --port 8765."""

import argparse
import sys
from pathlib import Path

from mesocosm.environments import serve

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # the rules are one directory up
from env import PictureWorld

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8765)
    options = parser.parse_args()
    serve(PictureWorld, host=options.host, port=options.port)
