"""A static site of chosen runs: the web app with the answers of the API as files."""
