"""The old place of the reader of GitHub URLs."""
