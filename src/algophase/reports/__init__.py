"""Pictures and pages made from analyses and tables of runs. Plotting libraries are imported only
when something is drawn.
"""
