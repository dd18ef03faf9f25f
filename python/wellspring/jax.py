"""JAX: batches that are made within compiled functions."""

import jax
import jax.numpy as jnp
import numpy as np

from . import _core
from ._arguments import as_json, dtype_name, whole
from ._batch import Batch

_MOST_ROWS = 1 << 24
_TARGET = "wellspring_batch"
_TYPES = {"f32": jnp.float32, "bf16": jnp.bfloat16, "f16": jnp.float16, "u8": jnp.uint8, "i32": jnp.int32}

_generators = {}  # by their arguments; compiled functions use them until the process ends


def _register_handlers():
    if _core.jax_handlers is None:
        raise _core.ConfigError("this build has no handlers for JAX: the headers of jaxlib were not found\n"
                                "  install again with: pip install . -C build.requires=jaxlib")
    for platform, handler in _core.jax_handlers.items():
        jax.ffi.register_ffi_target(_TARGET, handler, platform=platform)


_register_handlers()
jax.tree_util.register_pytree_with_keys(
    Batch, lambda batch: ([(jax.tree_util.DictKey(name), column) for name, column in batch.items()], tuple(batch)),
    lambda names, columns: Batch(zip(names, columns)))


def _key(generator):
    key = as_json("generator", generator._arguments)
    if key not in _generators:
        _core.jax_register(key, generator)
        _generators[key] = generator
    return key


def _scalar(name, value):
    if value.ndim != 0 or not jnp.issubdtype(value.dtype, jnp.integer):
        raise TypeError(f"{name} must be an integer, not an array {value.dtype}{list(value.shape)}")
    return value


def _id_words(first, last):
    """A sample id as two uint32, the low word first; negative numbers become ids that do not exist."""
    if not isinstance(first, jax.Array):
        first = whole("first", first, 0, last)
        return [jnp.uint32(first & 0xFFFFFFFF), jnp.uint32(first >> 32)]
    if _scalar("first", first).dtype.itemsize == 8:
        return [(first & 0xFFFFFFFF).astype(jnp.uint32), ((first >> 32) & 0xFFFFFFFF).astype(jnp.uint32)]
    return [first.astype(jnp.uint32), jnp.where(first < 0, jnp.uint32(0xFFFFFFFF), jnp.uint32(0))]


def _epoch_word(epoch):
    """An epoch as uint32; all numbers out of range become 65536, which the handler refuses."""
    if not isinstance(epoch, jax.Array):
        return jnp.uint32(epoch)
    if _scalar("epoch", epoch).dtype.itemsize < 4:
        epoch = epoch.astype(jnp.int32)
    return jnp.where((epoch < 0) | (epoch > 65535), 65536, epoch).astype(jnp.uint32)


def batch(generator, first, count, *, dtype=None, columns=None, epoch=0, repeat=1):
    """The Batch of generator.batch(first, count), with the same bytes, also within jax.jit.

    first    a Python integer or a traced one. Without jax_enable_x64, JAX's integers have 32 bits.
    count    a Python integer
    dtype    as in Generator.batch
    columns  names of the columns to make, for example ["label"]; x is always made. Default: all
    epoch    as in Generator.batch; a Python integer or a traced one
    repeat   as in Generator.batch; a Python integer
    """
    count = whole("count", count, 1, _MOST_ROWS)
    last = generator._passes(count, 1 if isinstance(epoch, jax.Array) else epoch, repeat)
    known = {name: jax.ShapeDtypeStruct(shape, _TYPES[kind])
             for name, kind, shape in generator._columns(count, dtype_name(dtype))}
    wanted = list(known) if columns is None else ["x", *(name for name in columns if name != "x")]
    for name in wanted:
        if name not in known:
            raise _core.ConfigError(f"columns: these samples have no column '{name}'\n  choose from {', '.join(known)}")
    make = jax.ffi.ffi_call(_TARGET, [known[name] for name in wanted], vmap_method="sequential")
    words = jnp.stack([*_id_words(first, last), _epoch_word(epoch)])
    made = make(words, generator=_key(generator), columns=" ".join(wanted), repeat=np.int64(repeat))
    return Batch(zip(wanted, made))
