"""Import of other tools' session files, and export to them."""
