"""Boosted trees beside their rivals: whole trade-off curves on census data, and what everything costs.

``equirate-lab bench trees`` runs `runner.run`, which keeps every measurement as a line of JSON and goes on where it was
interrupted; `page` makes tables and plots of what is there.
"""
