"""One study per file."""
