"""osworld: tasks on a whole computer, run by the authors' own program, or scored from recorded results."""
