"""Records, rules and protocols. No input or output happens here, and nothing of ours is imported from elsewhere."""
