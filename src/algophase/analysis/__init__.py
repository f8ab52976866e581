"""What a network computes: metrics, circles, closed forms, verdict. Numbers only; drawing is in
`pictures` and `report`, words are in `pages`.
"""
