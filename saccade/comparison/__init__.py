"""Compare systems fairly: equal data and budget, several seeds, the same test sentences; one table and one report."""
