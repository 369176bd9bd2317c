"""Anthropic Messages. One wire object is one message of the `messages` list."""
