"""The command line: one file per command, which parses options, calls a function of the package
and prints what came out.
"""

from algophase.cli.commands import app as app
from algophase.cli.commands import main as main
