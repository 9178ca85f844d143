"""Retrieval from long contexts: one fact, a paraphrased fact, or a chain of facts, among others of the same form."""
