"""Any input: what properties of the tests draw, and the command that draws more."""
