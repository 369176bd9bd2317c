"""Sessions: the class, how one is opened, and what its methods do."""
