"""HTTP layer around the routes: request checks, response headers, logging, and the pages of the web app."""
