"""MLflow models that keep the ``.equirate`` file instead of a pickle (extra ``mlflow``: mlflow-skinny is enough).

`save_model` and `log_model` write a folder with ``model.equirate``, ``MLmodel`` and, where one is given, the report.
`load_model` opens it again without executing anything of the file. MLflow's own ``mlflow.pyfunc.load_model`` opens it,
too, as does whatever serves such models.
"""

from .flavor import load_model, log_model, save_model
from .serving import _load_pyfunc

__all__ = ["_load_pyfunc", "load_model", "log_model", "save_model"]


def __dir__() -> list[str]:
    """The public names alone."""
    return list(__all__)
