"""The server: an HTTP API over the store, and the web app that uses it."""
