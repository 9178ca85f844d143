"""Records, rules and protocols. This package performs no I/O and imports no other package of mesocosm."""
