"""Light stand-ins for parts of the standard library: what the start of every command would otherwise wait for."""
