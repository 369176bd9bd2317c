"""Token counters: exact for public vocabularies, else a safe estimate calibrated by reported usage."""
