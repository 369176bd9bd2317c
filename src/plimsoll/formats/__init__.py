"""The wire formats: reading, writing, converting and checking messages of OpenAI, Anthropic and the AI SDK."""
