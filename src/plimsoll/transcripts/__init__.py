"""Session files of other tools: Claude Code, Codex and pi, found, read and written."""
