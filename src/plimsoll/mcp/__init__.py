"""The MCP server: a user's sessions as tools for any client of the Model Context Protocol. Needs the extra `mcp`."""
