"""What plays episodes."""
