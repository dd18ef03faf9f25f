"""Generators: samples by id."""

import json

from . import _core
from ._arguments import LARGEST_ID, as_json, device_name, image_size, setting, text, whole
from ._numpy_generator import NumpyGenerator


def generators():
    """{name: one-line summary} of all generators."""
    return dict(_core.list_generators())


def describe(name):
    """A text about a generator: all parameters with types, defaults, ranges and meanings, presets, and latents."""
    facts = Generator(name).describe()
    lines = [f"{facts['name']}, version {facts['version']}: {facts['summary']}", f"sample: {facts['sample']}", "", "parameters"]
    for row in facts["parameters"]:
        default = "required" if row["default"] is None else f"default {row['default']}"
        words = [row["type"], f"{default} {row['unit']}".rstrip()]
        if row["low"] is not None or row["high"] is not None:
            words.append(" to ".join("any" if end is None else f"{end:g}" for end in (row["low"], row["high"])))
        lines.append(f"  {row['name']}: {', '.join(words)}")
        lines.append("      " + row["help"] + (f" ({row['source']})" if row["source"] else "")
                     + (f"; only with {row['effect']}" if "effect" in row else ""))
        lines += [f"      {preset['name']}: {preset['help']}" for preset in row.get("presets", [])]
    lines += ["", "latents", *(f"  {latent['name']}: {latent['help']}" for latent in facts["latents"])]
    return "\n".join(lines)


def _made_again(arguments):
    """A pickled generator."""
    return Generator(**arguments)


class Generator(_core.Generator):
    """Samples of one generator. Sample i is a pure function of name, parameters, seed and i.

    name         one of wellspring.generators(), or a header of yours: "./NAME.h"
    size         side of square images in pixels, or (height, width); events and sets ignore it
    seed         seed of all samples
    device       "cpu", "cuda", "cuda:N" or "auto"
    threads      CPU threads; 0: as many as `wellspring doctor` shows
    plane        True: also make dense labels
    augment      list of operations as in a configuration: [{"flip_x": 0.5}, "grey"]
    normalise    {"mean": [...], "std": [...]}
    parameters   the generator's own, as on the command line; describe(NAME) explains them

    A generator may be used by several threads, which take turns.
    """

    def __init__(self, name, *, size=64, seed=0, device="cpu", threads=0, plane=False, augment=None,
                 normalise=None, **parameters):
        self._arguments = dict(parameters, name=name, size=size, seed=seed, device=device_name(device),
                               threads=threads, plane=plane, augment=augment, normalise=normalise)
        keys = {"augment": augment, "normalise": normalise}
        given = {key: value for key, value in keys.items() if value is not None}
        super().__init__(
            text("name", name),
            [(key, setting(key, value)) for key, value in parameters.items()],
            image_size(size),
            whole("seed", seed, 0, LARGEST_ID),
            device_name(device),
            whole("threads", threads, 0, 1024),
            bool(plane),
            as_json("augment and normalise", given),
        )
        self._description = json.loads(self._describe())

    from_numpy = NumpyGenerator

    def __reduce__(self):
        return _made_again, (self._arguments,)

    def describe(self):
        """Everything that is known about the generator: parameters, classes, latents, references."""
        return json.loads(json.dumps(self._description))

    @property
    def name(self):
        return self._description["name"]

    @property
    def parameters(self):
        """{name: value} of all parameters, defaults included."""
        return dict(self._description["values"])

    @property
    def presets(self):
        """{name: help}; use one as Generator(name, preset=...)."""
        rows = (row.get("presets", []) for row in self._description["parameters"])
        return {preset["name"]: preset["help"] for row in rows for preset in row}

    @property
    def classes(self):
        """Names of the classes; label i means classes[i]."""
        return list(self._description["classes"])

    @property
    def latents(self):
        """Names of the columns of batch.latents."""
        return [latent["name"] for latent in self._description["latents"]]

    @property
    def overflow(self):
        """{"samples": ..., "items": ...}: sets with more items than a row holds, and the items left out so far."""
        samples, items = self._overflow()
        return {"samples": samples, "items": items}

    @property
    def notes(self):
        """Messages about tables and limits, after the first batch."""
        return self._notes()

    def __repr__(self):
        return f"<wellspring.Generator {self.name}: {self._description['sample']}, {len(self.classes)} classes>"
