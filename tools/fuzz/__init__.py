"""Any input: strategies of the tests' properties, and the command that draws more."""
