"""Where a session runs: computer, project, and what goes on in it."""
