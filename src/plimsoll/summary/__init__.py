"""Summaries: the ledger of facts, its rendering, the frame it is sent in, and the prompt and checks for a model's prose."""
