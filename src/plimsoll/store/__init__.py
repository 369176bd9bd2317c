"""Stores: where sessions are kept. Files in a directory, one SQLite file, or memory, behind `plimsoll.protocols.Store`."""
