"""Engines: each gives the loss and the gradient of an ensemble of networks, as `plain` defines
them.
"""
