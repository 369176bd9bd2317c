"""Summaries: the facts ledger, its rendering, the frame around a summary, and the prompt and checks for a model's prose."""
