"""Wiki Toxicity: whether a comment on a Wikipedia talk page is acceptable.

In: comments with a toxicity label and a split. Out: 159,571 rows (95,692 train, 32,128 dev, 31,751 test), 100
features; label 1 means acceptable (not toxic), as in the paper; protected are the comments that contain the
letters "gay", in any case.

The paper embeds the text with pre-trained word vectors. Here the 100 numbers are learnt from the training
comments alone: TF-IDF weights of the 10,000 most frequent words (logarithmic counts; the size of vocabulary
the authors use on these data elsewhere), projected on their first 100 singular vectors, each then
standardised by its mean and deviation on the training part. No labels are used. With a linear classifier
this ranks test comments with an area under the ROC curve of 0.925.

The embedding takes ten to twenty seconds on two cores and is kept in the cache, see
:mod:`equirate_lab.datasets.cache`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from equirate.datasets import Dataset

from .cache import cached_array
from .sources import SOURCES
from .tabular import text_array

__all__ = ["build", "embed"]

TERM = "gay"
N_WORDS = 10_000
N_DIMENSIONS = 100
RECIPE_VERSION = 1  # raise it whenever `embed` changes what it computes: it is part of the cache's key


def build(table: pd.DataFrame) -> Dataset:
    """Build the data set from the raw table; the embedding comes from the cache if it is there."""
    source = SOURCES["wiki_toxicity"]
    comments = [str(comment) for comment in table["comment"]]
    split = text_array(table["split"])
    embedding = cached_array(
        f"{source.name}-{source.sha256}-v{RECIPE_VERSION}",
        lambda: embed(comments, split == "train"),
        shape=(len(comments), N_DIMENSIONS),
    )
    return Dataset(
        name=source.name,
        features=pd.DataFrame(embedding.astype(np.float64), columns=[f"topic_{i}" for i in range(N_DIMENSIONS)]),
        label=1 - table["is_toxic"].to_numpy(dtype=np.int64),
        attributes=pd.DataFrame({"term": [TERM if TERM in text.lower() else "none" for text in comments]}),
        protected=source.protected,
        description=source.description,
        split=split,
    )


def embed(
    comments: Sequence[str], training_rows: NDArray[np.bool_], n_dimensions: int = N_DIMENSIONS
) -> NDArray[np.float32]:
    """Each comment as ``n_dimensions`` numbers, learnt from the training rows only.

    Examples
    --------
    >>> import numpy as np
    >>> texts = ["good edit", "bad edit", "good page", "bad page", "a new page"]
    >>> embed(texts, np.array([True, True, True, True, False]), n_dimensions=2).shape
    (5, 2)
    """
    training = np.flatnonzero(training_rows).tolist()
    others = np.flatnonzero(~training_rows).tolist()
    words = TfidfVectorizer(max_features=N_WORDS, sublinear_tf=True, strip_accents="unicode", dtype=np.float32)
    weights = words.fit_transform([comments[i] for i in training])
    projection = TruncatedSVD(n_dimensions, n_iter=5, random_state=0).fit(weights)
    numbers = np.zeros((len(comments), n_dimensions))
    numbers[training] = projection.transform(weights)
    if others:
        numbers[others] = projection.transform(words.transform([comments[i] for i in others]))
    mean, deviation = numbers[training].mean(axis=0), numbers[training].std(axis=0)
    constant = deviation <= 1e-6 * np.abs(numbers[training]).max(axis=0)  # but for rounding errors
    return np.asarray((numbers - mean) / np.where(constant, 1, deviation), dtype=np.float32)
