from .encode import *
from .model import *
from .train import *
from .types import *

__version__: str
