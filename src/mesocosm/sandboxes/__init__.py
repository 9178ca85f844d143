"""Run external processes in isolation: start and watch them, read their output, and end their process trees."""
