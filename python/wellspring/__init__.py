"""Synthetic training data, generated where it is used.

    import wellspring as ws
    g = ws.Generator("shapes", size=64, classes=10, seed=1)
    batch = g.batch(first=0, count=128)
    batch.x, batch.label, batch.latents
"""

from . import sbi
from ._batch import Batch
from ._core import ConfigError, DataError, DeviceError, Error, __version__
from ._diagnosis import Diagnosis, diagnose
from ._generator import Generator, describe, generators
from ._mixture import Mixture
from ._run import Picture, export, load, preview, stats, train
from .tables import to_awkward, to_pandas

__all__ = ["Batch", "ConfigError", "DataError", "DeviceError", "Diagnosis", "Error", "Generator", "Mixture", "Picture",
           "describe", "diagnose", "export", "generators", "load", "preview", "sbi", "stats", "to_awkward", "to_pandas", "train",
           "__version__"]
