"""The three players' strategies: slack (xi), multipliers (lambda), model (theta), and the step rules they use.

A strategy is a frozen setting that declares what it needs and provides; its memory between rounds is a `State` of
arrays whose last axis runs over configurations, so one loop plays any number of games side by side and can drop those
that have ended.
"""
