"""Reading results: tables, figures, checks. Nothing here runs a solver or writes a result."""
