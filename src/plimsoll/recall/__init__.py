"""Search over a session's history: an index that grows with it, and the tools that let a model use it."""
