"""Agent frameworks, one module each; importing a module imports its framework."""
