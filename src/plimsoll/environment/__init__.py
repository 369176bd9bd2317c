"""The environment a session runs in: computer, project and recent activity."""
