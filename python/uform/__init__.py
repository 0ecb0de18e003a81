"""Encoders that read bytes: texts to embeddings, states, token vectors and calibrated choices.

One module per header of the C ABI: `uform.types`, `uform.model`, `uform.encode`, `uform.train`; their names are all here
as well. `uform.search` is the thin layer for those who want a NumPy array and a ranking.
"""

from ._uform import version as _version
from .encode import *
from .encode import __all__ as _encode
from .model import *
from .model import __all__ as _model
from .train import *
from .train import __all__ as _train
from .types import *
from .types import __all__ as _types

__version__ = _version()
__all__ = [*_types, *_model, *_encode, *_train]
