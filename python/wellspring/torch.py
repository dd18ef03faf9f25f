"""PyTorch: a mixture as an IterableDataset of tensors."""

import torch
import torch.utils.data

from ._mixture import Mixture


def tensors(batch, device=None):
    """The columns of a batch as tensors that share its memory, unless `device` is another one."""
    shared = {name: torch.from_dlpack(column) for name, column in batch.items()}
    return shared if device is None else {name: tensor.to(device) for name, tensor in shared.items()}


class IterableDataset(torch.utils.data.IterableDataset):
    """The batches of a configuration as dicts of tensors, for DataLoader(dataset, batch_size=None).

    Rank and number of ranks come from torch.distributed unless they are given. Threads of this
    process make the samples, so worker processes are neither needed nor allowed. x has PyTorch's order of
    axes (channels_last in memory), and labels are int64. `device`: see tensors(). `dtype`: type of x, as in Mixture, also
    torch.float16.
    """

    def __init__(self, config, overrides=(), *, set=None, rank=None, world=None, layout="NCHW", device=None,
                 dtype=None):
        super().__init__()
        if rank is None and world is None and torch.distributed.is_available() and torch.distributed.is_initialized():
            rank, world = torch.distributed.get_rank(), torch.distributed.get_world_size()
        self.mixture = Mixture(config, overrides, set=set, rank=rank or 0, world=world or 1, layout=layout,
                               dtype=dtype)
        self.device = device

    def __len__(self):
        return len(self.mixture)

    def __iter__(self):
        if torch.utils.data.get_worker_info() is not None:
            raise RuntimeError("wellspring makes samples in the threads of one process\n  use num_workers=0")
        for batch in self.mixture:
            columns = tensors(batch, self.device)
            columns["label"] = columns["label"].long()
            yield columns

    def state_dict(self):
        return self.mixture.state_dict()

    def load_state_dict(self, state):
        self.mixture.load_state_dict(state)
