"""Conversations of hosts that send the whole list with each request: recognised by their prefix, kept as sessions."""
