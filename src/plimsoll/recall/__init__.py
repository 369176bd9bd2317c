"""Search in a session's history: an incremental index, and the tools by which a model uses it."""
