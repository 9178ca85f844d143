"""Retrieval from long contexts: one fact, a fact in other words, a chain of facts, among others of the same form."""
