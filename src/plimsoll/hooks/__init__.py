"""Hooks of coding agents: what a tool's own compaction lost is handed back to it."""
