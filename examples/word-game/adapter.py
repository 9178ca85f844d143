"""Serve the word game: python adapter.py --port 8765."""

import argparse

from mesocosm.environments import serve

from env import WordGame

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8765)
    options = parser.parse_args()
    serve(WordGame, host=options.host, port=options.port)
