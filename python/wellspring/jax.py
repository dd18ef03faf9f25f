"""JAX: batches that are made within compiled functions."""

import jax
import jax.numpy as jnp

from . import _core
from ._arguments import LARGEST_ID, as_json, dtype_name, whole
from ._batch import Batch

MOST_ROWS = 1 << 24
TARGET = "wellspring_batch"
TYPES = {"f32": jnp.float32, "bf16": jnp.bfloat16, "f16": jnp.float16, "u8": jnp.uint8, "i32": jnp.int32}

_generators = {}  # by their arguments; compiled functions use them until the process ends


def _register_handlers():
    if _core.jax_handlers is None:
        raise _core.ConfigError("this build has no handlers for JAX: the headers of jaxlib were not found\n"
                                "  install again with: pip install . -C build.requires=jaxlib")
    for platform, handler in _core.jax_handlers.items():
        jax.ffi.register_ffi_target(TARGET, handler, platform=platform)


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


def _words(first, count):
    """A sample id as uint32 [2], the low word first; negative numbers become ids that do not exist."""
    if not isinstance(first, jax.Array):
        first = whole("first", first, 0, LARGEST_ID + 1 - count)
        return jnp.array([first & 0xFFFFFFFF, first >> 32], jnp.uint32)
    if first.ndim != 0 or not jnp.issubdtype(first.dtype, jnp.integer):
        raise TypeError(f"first must be an integer, not an array {first.dtype}{list(first.shape)}")
    if first.dtype.itemsize == 8:
        return jnp.stack([first & 0xFFFFFFFF, (first >> 32) & 0xFFFFFFFF]).astype(jnp.uint32)
    high = jnp.where(first < 0, jnp.uint32(0xFFFFFFFF), jnp.uint32(0))
    return jnp.stack([first.astype(jnp.uint32), high])


def batch(generator, first, count, *, dtype=None, columns=None):
    """The Batch of generator.batch(first, count), with the same bytes, also within jax.jit.

    first    a Python integer or a traced one. Without jax_enable_x64, JAX's integers have 32 bits.
    count    a Python integer
    dtype    as in Generator.batch
    columns  names of the columns to make, for example ["label"]; x is always made. Default: all
    """
    count = whole("count", count, 1, MOST_ROWS)
    known = {name: jax.ShapeDtypeStruct(shape, TYPES[kind])
             for name, kind, shape in generator._columns(count, dtype_name(dtype))}
    wanted = list(known) if columns is None else ["x", *(name for name in columns if name != "x")]
    for name in wanted:
        if name not in known:
            raise _core.ConfigError(f"columns: these samples have no column '{name}'\n  choose from {', '.join(known)}")
    make = jax.ffi.ffi_call(TARGET, [known[name] for name in wanted], vmap_method="sequential")
    made = make(_words(first, count), generator=_key(generator), columns=" ".join(wanted))
    return Batch(zip(wanted, made))
