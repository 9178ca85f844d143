"""What commands that talk to a platform have in common, and those of its runs."""
