"""Mixtures: the batches of a configured run, as its network reads them."""

from . import _core
from ._arguments import LARGEST_ID, dtype_name, text, whole
from ._configuration import settings


class Mixture:
    """The batches of a configuration, in the order of training: mixed, augmented and normalised.

    config       a YAML file or a dict of the same structure
    overrides    "train.batch=64", ... as on the command line; or as a dict: set={"train.batch": 64}
    rank, world  this process makes rows [rank, rank + 1) * batch / world of every batch
    layout       "NHWC" or "NCHW", see Generator.batch
    dtype        type of x, as in Generator.batch: "f32" (default), "bf16", "f16" or "u8"

    Iterating continues where the last iteration ended, until the last step of the run. Batches also have
    the columns `source` (index into `sources`) and `sample` (id within the source).
    """

    def __init__(self, config, overrides=(), *, set=None, rank=0, world=1, layout="NHWC", dtype=None):
        self._settings = settings(config, overrides, set or {})
        self._world = whole("world", world, 1, 1 << 20)
        self._rank = whole("rank", rank, 0, self._world - 1)
        self._layout = text("layout", layout)
        self._dtype = dtype_name(dtype)
        self._core = self._open()
        self._made = -1  # last step that the extension module has made
        self._step = 0

    def _open(self):
        return _core.Mixture(*self._settings, self._rank, self._world, self._dtype)

    def __len__(self):
        """Number of steps of the run."""
        return self._core.steps()

    def __iter__(self):
        return self

    def __next__(self):
        if self._step >= len(self):
            raise StopIteration
        return self.batch(self._step)

    def batch(self, step):
        """The batch of a step; iteration continues after it."""
        step = whole("step", step, 0, min(LARGEST_ID, len(self) - 1))
        if step <= self._made:  # files are read ahead, so steps only increase
            self._core = self._open()
        batch = self._core.batch(step, self._layout)
        self._made, self._step = step, step + 1
        return batch

    @property
    def sources(self):
        """Names of the sources."""
        return self._core.sources()

    @property
    def config(self):
        """The resolved configuration, as YAML."""
        return self._core.resolved()

    @property
    def notes(self):
        """Messages about the data, after the first batch."""
        return self._core.notes()

    def state_dict(self):
        """The position, for a checkpoint of the caller's."""
        return {"step": self._step}

    def load_state_dict(self, state):
        """Continues at the position of `state`."""
        self._step = whole("state['step']", state["step"], 0, len(self))
