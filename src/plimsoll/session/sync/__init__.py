"""A host's own list of messages, held against a session."""
