"""Who there is: passwords, tokens, guests, and recognising who asks."""
