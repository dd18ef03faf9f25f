from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import Generator

def tasks() -> list[str]: ...
def task(name: str, *, seed: int = 0, device: Any = "cpu", threads: int = 0) -> Task: ...

class Task:
    name: str
    generator: Generator
    observations: NDArray[np.float32]
    true_parameters: NDArray[np.float32]
    @property
    def prior(self) -> Any: ...
    def simulator(self, theta: Any, first: int | None = None) -> Any: ...
    def log_likelihood(self, theta: Any, x: Any) -> Any: ...
