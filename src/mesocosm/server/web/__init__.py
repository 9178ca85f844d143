"""What stands around every request: the socket, checks before and headers after, the pages of the web app."""
