"""A static site of selected runs: the web app, with the API's responses as files."""
