from collections.abc import Iterable
from typing import Any

from . import Batch, Generator

def batch(generator: Generator, first: Any, count: int, *, dtype: Any = None,
          columns: Iterable[str] | None = None, epoch: Any = 0, repeat: int = 1) -> Batch: ...
