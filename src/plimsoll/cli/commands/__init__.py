"""One file a command: what its options are, and what it does."""
