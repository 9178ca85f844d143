"""Containers in which agents work for a while: docker, podman, apptainer, and bubblewrap without an image."""
