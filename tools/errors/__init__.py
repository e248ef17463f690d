"""Wrong inputs of every command, and the page of what is said of them."""
