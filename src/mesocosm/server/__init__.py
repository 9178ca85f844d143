"""The server: one HTTP API over the store, and the web app that reads it."""
