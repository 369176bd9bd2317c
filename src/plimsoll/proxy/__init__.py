"""A proxy in front of a provider's API, which keeps every conversation that goes through it within its window."""
