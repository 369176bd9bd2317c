"""Clients of the official SDKs whose requests are kept inside the context window."""
