"""UI messages of the AI SDK, made of parts. One wire object is one `UIMessage`."""
