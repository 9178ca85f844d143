"""Records of the original package under their old names."""
