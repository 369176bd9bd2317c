"""Adapters to agent frameworks, one module each. Each takes and gives its framework's own messages, and needs its own extra."""
