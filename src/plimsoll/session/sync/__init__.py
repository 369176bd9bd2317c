"""Comparing a host's list of messages with a session."""
