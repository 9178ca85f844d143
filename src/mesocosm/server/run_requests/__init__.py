"""Requests for runs on a server: submit, list, change and delete them; batch runs."""
