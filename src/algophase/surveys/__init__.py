"""Every network in a tree of folders, analyzed into one table."""
