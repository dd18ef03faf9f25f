from collections.abc import Callable, Iterable
from typing import Any

import numpy

from . import Batch

class NumpyGenerator:
    name: str
    classes: list[str]
    latents: list[str]
    def __init__(self, fn: Callable[[numpy.random.Generator], Any], *, name: str | None = None, seed: int = 0,
                 classes: Iterable[str] = ..., latents: Iterable[str] = (), low: float = ..., high: float = ...) -> None: ...
    def batch(self, first: int, count: int) -> Batch: ...
