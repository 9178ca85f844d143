"""Notifications of workspaces: what their messages say, how they are signed, and sending them."""
