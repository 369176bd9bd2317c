"""What a session's log says: values to records and back, and the state that records lead to. Pure."""
