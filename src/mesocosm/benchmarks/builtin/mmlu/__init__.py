"""Multiple-choice questions of 57 subjects, graded by the stated letter."""
