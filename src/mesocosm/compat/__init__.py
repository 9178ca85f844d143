"""Compatibility with programs and files of other projects; README.md lists what each part is for and what it costs."""
