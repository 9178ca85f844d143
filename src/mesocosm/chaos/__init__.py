"""Playing a command again and again under faults, and comparing the records: start reading at `trials`."""
