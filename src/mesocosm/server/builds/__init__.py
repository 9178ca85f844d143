"""Build submitted repositories into environments that can be played. Start reading at `build`."""
