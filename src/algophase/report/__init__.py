"""Pictures and pages made from analyses. Matplotlib is imported here alone, and only when
something is drawn.
"""
