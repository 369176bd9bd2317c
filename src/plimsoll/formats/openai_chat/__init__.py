"""OpenAI Chat Completions, as spoken by most servers. One wire object is one message of the `messages` list."""
