"""The raw tables of the bundled data sets. Nothing is parsed before the digest of its file is checked."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from typing import TYPE_CHECKING

from .optional import require
from .sources import DataSource

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["CorruptDataError", "read_table"]

BUNDLED = Path(__file__).resolve().with_name("files")


class CorruptDataError(ValueError):
    """A data file is not the one this version knows: its digest differs."""


def read_table(source: DataSource) -> pd.DataFrame:
    """Read the raw table of a source, after its digest was checked."""
    pd = require("pandas", caller="equirate.datasets")
    path = BUNDLED / source.file
    content = path.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    if digest != source.sha256:
        raise CorruptDataError(
            f"The file {path} is not the one that data set {source.name!r} was made from.\n"
            f"  expected sha256: {source.sha256}\n"
            f"  found sha256:    {digest}\n"
            "  Install equirate again."
        )
    return pd.read_csv(io.BytesIO(content), compression="gzip", **source.read_options)  # type: ignore[no-any-return]
