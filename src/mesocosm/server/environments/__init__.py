"""Submitted environments: submit, retry and delete them, their documents and usage."""
