"""What plimsoll found out, for people to look at: in a terminal, or as one page of HTML."""
