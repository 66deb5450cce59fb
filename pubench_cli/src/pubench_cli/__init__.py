"""The command line of pubench."""
