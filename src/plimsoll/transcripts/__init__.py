"""Session files of Claude Code, Codex and pi: discovery, readers and writers."""
