"""Build submitted repositories into runnable environments. Start reading at `build`."""
