from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch
import torch.utils.data

from . import Mixture, _Config

def tensors(batch: Mapping[str, Any], device: Any = None) -> dict[str, torch.Tensor]: ...

class IterableDataset(torch.utils.data.IterableDataset[dict[str, torch.Tensor]]):
    mixture: Mixture
    device: Any
    def __init__(self, config: _Config, overrides: str | Iterable[str] = (), *, set: Mapping[str, Any] | None = None,
                 rank: int | None = None, world: int | None = None, layout: str = "NCHW",
                 device: Any = None, dtype: Any = None) -> None: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[dict[str, torch.Tensor]]: ...
    def state_dict(self) -> dict[str, int]: ...
    def load_state_dict(self, state: Mapping[str, int]) -> None: ...
