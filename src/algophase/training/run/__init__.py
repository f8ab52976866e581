"""From a list of runs to trained networks: the plan, ensembles, the optimizer, checkpoints."""
