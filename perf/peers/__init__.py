"""The same work through other runners and this one, side by side: `python -m perf.peers`."""
