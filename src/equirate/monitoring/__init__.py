"""Monitoring: whether the constraints are still kept on rows that arrive after the fit, at any time.

`martingales`
    Evidence against a proportion, and the confidence region of several of them.
`proportions`
    Counts: rows in a denominator, and successes among them.
`forms`
    Kinds of violations as functions of proportions, and their bounds.
`residuals`
    Which form a constraint's violation has.
`enclosing`
    The range of any expression over a box.
`following`
    One constraint: counts, bounds, alarm, and how many more rows a verdict needs.
`monitor`
    `Monitor`, the public class.
`saving`
    A monitor as a plain file and back.
`page`
    The bounds over time as one page.
"""
