"""Sessions from other tools' files, and back."""
