"""To be written."""

from algophase.paper.product import Item

ITEMS: list[Item] = []
