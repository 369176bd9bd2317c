"""Counting tokens: exactly where the vocabulary is public, elsewhere by a safe estimate that usage corrects."""
