"""The paper, item by item: one file a family of tables and figures, each item under the label
the paper gives it.
"""
