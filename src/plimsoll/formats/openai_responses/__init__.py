"""OpenAI Responses. One wire object is one item of the `input` list."""
