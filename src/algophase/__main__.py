"""`python -m algophase` is the command `algophase`."""

from algophase.cli import main

main()
