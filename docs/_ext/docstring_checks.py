"""What numpydoc checks in the docstrings of the API reference.

``docs/conf.py`` gives these to numpydoc, whose warnings are errors when the site is built. The tests check the same
without building it (``tests/docs/test_docstrings.py``).
"""

CHECKS = {
    "GL06",  # unknown sections
    "GL07",  # order of sections
    "GL08",  # no docstring
    "SS01",  # no summary
    "PR01",  # parameters that are not documented
    "PR02",  # documented parameters that do not exist
    "PR03",  # order of parameters
    "PR07",  # parameters without a description
    "RT01",  # functions that return something, and have no section Returns
    "RT03",  # results without a description
    "YD01",  # generators without a section Yields
}

EXEMPT = {
    r"\.Learner\.(width|keeper)$": "attributes that are None have no docstring of their own",
    r"\.Curvature$": "an enumeration has the parameters of Python's Enum",
    r"^equirate\.algorithms\.[a-z_]+$": "these values show the docstring of their class, Algorithm",
}
"""Names that are not checked (regular expressions), and why."""
