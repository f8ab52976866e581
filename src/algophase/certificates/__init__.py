"""What can be proved of a network: read `README.md` of this folder first."""
