"""What commands print: tables and closing lines, a module per command. The work is done elsewhere."""

PLAIN = {"highlight": False, "markup": False, "soft_wrap": True}  # a line of rich that is printed as it is
