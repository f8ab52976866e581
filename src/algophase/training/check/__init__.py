"""No engine is trusted before its gradients agree with the plain engine's."""
