"""The engines' kernels in Triton, a folder for each family. Only `launch` can be imported without
Triton, and nothing else in algophase needs it.
"""
