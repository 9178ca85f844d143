"""Serve the environment over HTTP. Mesocosm starts this file with --port; by hand: python adapter.py"""

import argparse

from mesocosm.environments import serve

from env import MyEnv

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8765)
    arguments = parser.parse_args()
    serve(MyEnv, host=arguments.host, port=arguments.port)
