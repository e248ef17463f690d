"""`python -m tools.verify`."""

from tools.verify import main

main()
