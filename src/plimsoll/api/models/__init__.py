"""Models that write summaries: the official SDKs of OpenAI and Anthropic behind the port of a summarizer."""
