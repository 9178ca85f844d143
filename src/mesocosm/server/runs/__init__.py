"""What the routes of the record answer, made from the store: lists, figures, traces, standings, what changes."""
