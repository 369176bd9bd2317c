"""Computes the compacted view of a history and the plan that explains it. Pure and synchronous: calls no model, reads no file."""
