"""What the rest of the package stands on. Nothing in here imports from another folder."""
