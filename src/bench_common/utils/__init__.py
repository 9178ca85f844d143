"""The published package has `utils.github`; what imports that name finds it here."""
