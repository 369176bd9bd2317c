"""The command line: parse, call the library, print. `plimsoll.cli.main:main` is the entry."""
