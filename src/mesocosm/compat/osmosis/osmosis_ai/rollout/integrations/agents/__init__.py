"""Agent frameworks, one module each; a framework is loaded with its module."""
