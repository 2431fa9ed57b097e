"""The commands as a terminal sees them: names, flags and help, which need only click."""
