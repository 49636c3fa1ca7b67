"""Why a comparison is lost, and whether that can be mended: written by people, looked up by part, rival and loss."""

from __future__ import annotations

UNKNOWN = "not known", "not known"
_CLOSELY = (
    "The mixture is the best one for the training rows, and follows few of them more closely than an average of "
    "regressions does: on twenty samples of 600 rows by .001 to .003, from 20,000 rows on by .0004 or less"
)
_ONE_STEP = "A pass takes one step of a regression; every regression of the rival is solved to the end"
REASONS: dict[tuple[str, str, str], tuple[str, str]] = {
    ("fits", "fairlearn", "errors"): (
        _CLOSELY,
        "Not by a ridge 10 or 30 times as strong, nor by regressions solved more exactly (both tried)",
    ),
    ("fits", "sampled", "errors"): (
        _ONE_STEP,
        "Probably not: regressions solved more exactly changed nothing at 100,000 rows; .0005 at most",
    ),
    ("fits", "sampled", "time"): (
        "It fits logistic regressions on samples of a few hundred rows; our gate and refining use all rows",
        "By refining on a sample; not tried",
    ),
    ("thresholds", "oxonfair", "time"): (
        "For two or three groups a grid of thresholds is small, and it computes nothing else; here the fit also "
        "evaluates and tests its constraints. It grows exponentially: with four groups it is slower, with six it needs "
        "more than 8 GB",
        "In part: by the profiler half of our time is outside of the search (checks, tables, evaluation)",
    ),
    ("thresholds", "error_parity", "time"): (
        "Every pair of groups is a constraint here, 112 for eight groups, and evaluating them is a quarter of the time",
        "Probably: a highest and a lowest rate need two constraints a group, and evaluation could wait",
    ),
    ("thresholds", "error_parity", "errors"): (
        "On the training rows ours is within .00003 of the optimum of the same programme; error-parity has coarser "
        "thresholds, which probably follow the rows of small groups less closely",
        "Perhaps by fewer thresholds for small groups; not tried",
    ),
    ("boosted", "error_parity", "time"): (
        "It trains one classifier on three quarters of the rows; here every row is scored by trees that have not seen "
        "it, and one more classifier serves",
        "No: the rows that it leaves out would be lost here",
    ),
    ("boosted", "perpetual", "time"): (
        "It trains one ensemble with a penalty, and promises no tolerance; here trees are trained for each fold",
        "No",
    ),
    ("boosted", "error_parity", "errors"): (
        "Trees are smaller here than LightGBM's defaults where rows are few, and group probabilities are estimated",
        "Not known; the differences are smaller than those between splits",
    ),
    ("boosted", "reductions", "errors"): (
        "On Adult (.0011) the rule is built on one estimate of the probabilities of label and group, and reductions "
        "fit trees anew. On Communities & Crime there is one split, and a gap of 0.15 is wider than any level that "
        "equirate was asked for there (0.12 at most)",
        "By model=LGBMClassifier(), which is fitted for prices as well and takes longer; by measuring a level of 0.3",
    ),
    ("boosted", "threshold_optimizer", "time"): (
        "It trains one classifier and chooses thresholds on its own training rows; here every row is scored by trees "
        "that have not seen it",
        "No: scores of training rows promise too much",
    ),
    ("boosted", "threshold_optimizer", "errors"): (
        "It has no tolerance: on Communities & Crime its gap of 0.32 is wider than any level that equirate was asked "
        "for there (0.12 at most)",
        "By asking for as much: a level of 0.3 is in the command, but not measured yet",
    ),
    ("boosted", "perpetual", "errors"): (
        "It grows its ensemble until a budget is used up, for up to 210 times as long; not looked into further",
        "Probably by model=default_trees(...) with more and larger trees; not tried",
    ),
    ("products", "bare products", "time"): (
        "On 1,810 rows most of a round is not the pass over the data but the players' own steps on a few numbers",
        "In part, by compiling those steps; a fit by default does not play such rounds any more",
    ),
    ("growth", "one matrix product", "time"): (
        "Scores near 0 are added up again in a fixed order, so that a row is decided alike alone and in a batch",
        "No",
    ),
    ("trees", "fairgbm", "time"): (
        "It trains one ensemble; here trees are trained for each fold, and for the groups",
        "No",
    ),
    ("trees", "fairgbm", "errors"): (
        "With two groups, its constraint is part of the boosting. With four groups it does not reach the gaps",
        "Not known; .0006 at most",
    ),
    ("networks", "cooper", "time"): ("Exact passes over all rows", "By fewer recorded rounds"),
}
"""By part, rival and what is lost."""


def reason(part: str, rival: str, what: str) -> tuple[str, str]:
    """Why, and whether it can be mended.

    Examples
    --------
    >>> reason("fits", "nobody", "time")
    ('not known', 'not known')
    """
    return REASONS.get((part, rival, what), UNKNOWN)
