"""The command line: parse, call the library, print. `plimsoll.cli.main:command` is the entry."""
