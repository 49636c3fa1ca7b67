"""The paper's two experiments in TensorFlow Constrained Optimization 0.2; run by the interpreter that has it.

Graph mode, ``LagrangianOptimizerV1`` with Adam for the model and for the multipliers. The data are constants of the
graph, nothing is fed, and a round is one ``session.run``. The multipliers see the rates, the model their hinge bounds.
Step sizes are variables, so that a grid is played one configuration after the other in one graph, from the same start.

- ``kld`` is Algorithm 2. A slack answers the multiplier of its coupling by the closed form of the best response.
- ``fmeasure`` is Algorithm 3. Slacks for each ratio descend together with the model.

Each is written in two styles. ``rates``: TFCO's own rates and ``RateMinimizationProblem``, as its users write.
``matrices``: a ``ConstrainedMinimizationProblem`` by hand, all rates by a few matrix products, the fastest we know.

Requests: ``{"do": "time", "rounds": ...}`` plays one configuration and gives the seconds. ``{"do": "grid",
"rounds": ...}`` plays all of them, stores every recorded iterate as ``weights`` (recorded rounds, features and
intercept, configurations) in ``grid.npz``, and gives the seconds. Both record an iterate every ``record_every`` rounds.
"""

import os
import time
from pathlib import Path
from typing import Any

import numpy as np

LOWEST = 1e-3
"""Smallest value of a slack: a rate below it would make a logarithm or a quotient run away."""
START = 0.5
"""First value of a slack that descends, before it is multiplied by the largest value it can take."""


def prepare(job: dict[str, Any], data: dict[str, Any], folder: Path) -> Any:
    """Build the graph of a problem and return what plays one configuration."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow.compat.v1 as tf  # type: ignore[import-not-found,import-untyped,unused-ignore]
    import tensorflow_constrained_optimization as tfco  # type: ignore[import-not-found,unused-ignore]

    tf.logging.set_verbosity(tf.logging.ERROR)
    tf.disable_eager_execution()
    X, y, group = data["X"], data["y"].astype(np.float32), data["group"].astype(bool)
    weights = tf.get_variable("weights", shape=(X.shape[1],), initializer=tf.zeros_initializer())
    intercept = tf.get_variable("intercept", shape=(), initializer=tf.zeros_initializer())
    scores = tf.linalg.matvec(tf.constant(X), weights) + intercept
    build = WRITTEN[job["problem"], job["style"]]
    steps = [tf.get_variable(name, shape=(), trainable=False) for name in ("theta_step", "lambda_step")]
    train = build(tf, tfco, scores, y, group, job, *map(tf.train.AdamOptimizer, steps))

    given = [tf.placeholder(tf.float32, ()) for _ in steps]
    set_steps = [tf.assign(step, value) for step, value in zip(steps, given, strict=True)]
    start = tf.global_variables_initializer()
    recorded = (weights, intercept)
    threads = int(job["threads"])
    session = tf.Session(
        config=tf.ConfigProto(intra_op_parallelism_threads=threads, inter_op_parallelism_threads=threads)
    )

    def play(configuration: tuple[float, float], rounds: int) -> tuple[float, list[Any]]:
        session.run(start)
        session.run(set_steps, dict(zip(given, configuration, strict=True)))
        found = []
        begin = time.perf_counter()
        for t in range(1, rounds + 1):
            if t % job["record_every"] == 0:  # an iterate is what the round began with
                w, b = session.run(recorded)
                found.append(np.append(w, b))
            session.run(train)
        return time.perf_counter() - begin, found

    return play


def problem_of(tfco: Any, loss: Any, rows: Any, bounds: Any, slacks: Any = ()) -> Any:
    """Tensors as the problem that TFCO takes: what to minimise, the constraints, and what the model sees of them."""

    class Problem(tfco.ConstrainedMinimizationProblem):  # type: ignore[misc,unused-ignore]
        num_constraints = int(rows.shape[0])
        variables = slacks

        def objective(self) -> Any:
            return loss

        def constraints(self) -> Any:
            return rows

        def proxy_constraints(self) -> Any:
            return bounds

    return Problem()


def linear_rows(tf: Any, scores: Any, coefficients: Any, constants: Any) -> tuple[Any, Any]:
    """Sums over examples, ``coefficients @ predictions + constants``, and their hinge upper bounds.

    A positive coefficient bounds the prediction from above, a negative one from below.
    """
    up = tf.constant(np.maximum(coefficients, 0).astype(np.float32))
    down = tf.constant(np.maximum(-coefficients, 0).astype(np.float32))
    both, fixed = tf.constant(coefficients.astype(np.float32)), tf.constant(constants.astype(np.float32))
    exact = tf.linalg.matvec(both, tf.cast(scores > 0, tf.float32)) + fixed
    above, below = tf.nn.relu(1 + scores), 1 - tf.nn.relu(1 - scores)
    return exact, tf.linalg.matvec(up, above) - tf.linalg.matvec(down, below) + fixed


def best_slacks(tf: Any, optimizer: Any, y: Any) -> tuple[Any, Any]:
    """The shares p_s of the divergence's four slacks, and their best response to the multipliers of the couplings."""
    p = y.mean()
    shares = tf.constant(np.array([p, 1 - p, p, 1 - p], dtype=np.float32))
    multipliers = optimizer.trainable_variables()[0]
    return shares, tf.stop_gradient(tf.clip_by_value(shares / tf.maximum(multipliers[1:], 1e-12), LOWEST, 1.0))


def kld(tf: Any, tfco: Any, scores: Any, y: Any, group: Any, job: dict[str, Any], theta: Any, lam: Any) -> Any:
    """Divergence of both groups' predicted proportions from the base rate, the error limited.

    Minimise ``sum -p_s log(slack_s)`` over four slacks, each at most its rate: a group's positive rate (p is the base
    rate) or its negative rate (1 - p). The best response to a multiplier is ``p_s / multiplier``, kept in [LOWEST, 1].
    """
    inside = [mask / mask.sum() for mask in (group, ~group)]
    error, slope = y.mean(), (1 - 2 * y) / len(y)
    coefficients = np.stack([slope, -inside[0], inside[0], -inside[1], inside[1]])
    constants = np.array([error - job["limit"], 0, -1, 0, -1])
    exact, bounds = linear_rows(tf, scores, coefficients, constants)
    optimizer = tfco.LagrangianOptimizerV1(theta, num_constraints=5, constraint_optimizer=lam)
    shares, slack = best_slacks(tf, optimizer, y)
    added = tf.concat([tf.zeros(1), slack], axis=0)
    objective = -tf.reduce_sum(shares * tf.log(slack))
    return optimizer.minimize(problem_of(tfco, objective, exact + added, bounds + added))


def fmeasure(tf: Any, tfco: Any, scores: Any, y: Any, group: Any, job: dict[str, Any], theta: Any, lam: Any) -> Any:
    """The largest F-measure, the protected group's at most ``margin`` below the others'.

    Each ratio is a / b with a slack for its numerator 2 TP and one for its denominator, the positives predicted plus
    the positives there are. Everybody's and the protected group's are bounded from below, the others' from above.
    """
    everybody = np.ones(len(y), dtype=bool)
    coefficients, constants, highest = [], [], []
    for mask, sign in ((everybody, 1.0), (group, 1.0), (~group, -1.0)):
        share, base = mask / mask.sum(), y[mask].mean()
        coefficients += [-sign * 2 * share * y, sign * share]  # a - N and D - b, or N - a and b - D
        constants += [0.0, sign * base]
        highest += [2 * base, 1 + base]
    signs = tf.constant(np.array([1, -1, 1, -1, -1, 1], dtype=np.float32))
    top = np.array(highest, dtype=np.float32)
    slack = tf.get_variable(
        "slack", initializer=START * top, constraint=lambda value: tf.clip_by_value(value, LOWEST, top)
    )
    exact, bounds = linear_rows(tf, scores, np.stack(coefficients), np.array(constants))
    fairness = [slack[4] / slack[5] - slack[2] / slack[3] - job["margin"]]
    optimizer = tfco.LagrangianOptimizerV1(theta, num_constraints=7, constraint_optimizer=lam)
    rows = tf.concat([fairness, exact + signs * slack], axis=0)
    seen = tf.concat([fairness, bounds + signs * slack], axis=0)
    return optimizer.minimize(problem_of(tfco, -slack[0] / slack[1], rows, seen, (slack,)))


def kld_rates(tf: Any, tfco: Any, scores: Any, y: Any, group: Any, job: dict[str, Any], theta: Any, lam: Any) -> Any:
    """The first problem in TFCO's rates; slacks are wrapped tensors."""
    everybody = tfco.rate_context(scores, tf.constant(y))
    optimizer = tfco.LagrangianOptimizerV1(theta, num_constraints=5, constraint_optimizer=lam)
    shares, slack = best_slacks(tf, optimizer, y)
    constraints = [tfco.error_rate(everybody) <= job["limit"]]
    for k, mask in enumerate((group, ~group)):
        members = everybody.subset(tf.constant(mask))
        rates = (tfco.positive_prediction_rate(members), tfco.negative_prediction_rate(members))
        constraints += [rate >= tfco.wrap_rate(slack[2 * k + i]) for i, rate in enumerate(rates)]
    objective = tfco.wrap_rate(-tf.reduce_sum(shares * tf.log(slack)))
    return optimizer.minimize(tfco.RateMinimizationProblem(objective, constraints))


def fmeasure_rates(
    tf: Any, tfco: Any, scores: Any, y: Any, group: Any, job: dict[str, Any], theta: Any, lam: Any
) -> Any:
    """The second problem in TFCO's rates, which makes its own slacks for ratios."""
    everybody = tfco.rate_context(scores, tf.constant(y))
    ours, others = (tfco.f_score(everybody.subset(tf.constant(mask))) for mask in (group, ~group))
    problem = tfco.RateMinimizationProblem(-tfco.f_score(everybody), [ours >= others - job["margin"]])
    return tfco.LagrangianOptimizerV1(theta, constraint_optimizer=lam).minimize(problem)


WRITTEN = {
    ("kld", "matrices"): kld,
    ("fmeasure", "matrices"): fmeasure,
    ("kld", "rates"): kld_rates,
    ("fmeasure", "rates"): fmeasure_rates,
}

if __name__ == "__main__":
    from serve import over_grid, serve  # type: ignore[import-not-found,unused-ignore]

    serve(over_grid(prepare))
