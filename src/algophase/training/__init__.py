"""Training: one specification, several engines. Every engine returns the loss and the gradient
that `plain` returns.
"""
