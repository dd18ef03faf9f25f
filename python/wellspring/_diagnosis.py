"""Whether data hold a training step back: the throughput ladder of any step and any loader."""

import itertools
import json
import numbers
import sys
from time import perf_counter, process_time

from . import _core
from ._arguments import text, whole

DAY = 86_400


class _Batches:
    """Endless batches of a loader: after the last one it begins again."""

    def __init__(self, name, loader):
        if not (hasattr(loader, "__iter__") or hasattr(loader, "__getitem__") or callable(loader)):
            raise TypeError(f"{name} must be an iterable or a function that returns one, not {type(loader).__name__}")
        self.name = name
        self.begin = loader if callable(loader) and not hasattr(loader, "__iter__") else lambda: loader
        self.source = None  # the iterable of the current epoch
        self.iterator = None
        self.given = 0  # in this epoch
        self.length = None  # batches per epoch, known after the first one

    def __iter__(self):
        return self

    def __next__(self):
        while True:
            if self.iterator is None:
                self.source = self.begin()
                self.iterator, self.given = iter(self.source), 0
            try:
                batch = next(self.iterator)
            except StopIteration:
                self.end_of_epoch()
                continue
            self.given += 1
            return batch

    def end_of_epoch(self):
        if self.given == 0 and self.length is None:
            raise _core.ConfigError(f"{self.name} gave no batch") from None
        if self.given == 0:
            raise _core.ConfigError(
                f"{self.name} gave {self.length} batches and cannot begin again\n"
                "  use an object that begins again with each iter(), such as a DataLoader, or a function that returns one"
            ) from None
        self.iterator, self.length = None, self.given

    def ahead(self):
        """Batches that the workers of a DataLoader prepare while nobody asks."""
        return (getattr(self.source, "num_workers", 0) or 0) * (getattr(self.source, "prefetch_factor", 0) or 0)

    def close(self):
        """Ends the workers of a DataLoader, unless it keeps them for its next iterator. Dropping the iterator is not
        enough after an exception of a worker, whose traceback keeps it."""
        if not getattr(self.source, "persistent_workers", False):
            getattr(self.iterator, "_shutdown_workers", lambda: None)()
        self.iterator = self.source = None


def _wait_for_pytorch():
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.synchronize()


def _runner(clock, synchronise, batches, step, ahead, each=1):
    """Returns a function that times steps; the time of a step is the mean over `each` batches. Before them, `ahead()`
    batches that were loaded in the meantime are used up without a step: during a step, a loader that is nearly as fast
    would load others, which would hide that it is slower."""

    def run(steps):
        ready = ahead()
        for _ in itertools.islice(batches, ready):
            pass
        if ready:
            step(next(batches))
        synchronise()
        times, waits, used = [], [], process_time()
        begin = last = clock()
        for _ in range(steps):
            start, waited = last, 0
            for _ in range(each):
                batch = next(batches)
                waited += clock() - last
                step(batch)
                last = clock()
            times.append((last - start) / each)
            waits.append(waited / each)
        synchronise()
        end = clock()
        times[-1] += (end - last) / each
        return times, waits, (end - begin) / each, (process_time() - used) / each

    return run


def _alternating(first, second):
    """Batches of two endless iterators in turn."""
    for batches in itertools.cycle((first, second)):
        yield next(batches)


def _shapes(batch):
    """Shapes of the arrays of a batch: of a tuple, list or dict, the shapes in it."""
    if isinstance(batch, dict):
        batch = list(batch.values())
    if isinstance(batch, (tuple, list)):
        return tuple(_shapes(part) for part in batch)
    shape = getattr(batch, "shape", None)
    return None if shape is None else tuple(shape)


class Diagnosis:
    """The result of diagnose(). print() shows the report.

    verdict            "not", "moderately" or "highly" input-bound, or "inconclusive"
    lost               share of the ceiling's rate that is lost to data
    lost_interval      its 95 % interval, or None
    speed_up           times as fast if data were free
    share_of_ceiling   rate as configured over the rate with resident batches
    """

    def __init__(self, report, content, page):
        self._report, self._content, self._page = report, content, page
        verdict = self.json()["verdict"]
        self.verdict, self.lost, self.speed_up = verdict["class"], verdict["lost"], verdict["speed_up_if_free"]
        self.lost_interval = verdict["lost_interval"] and tuple(verdict["lost_interval"])
        self.share_of_ceiling = [rung for rung in self.json()["rungs"] if not rung["apart"]][-1]["share_of_ceiling"]

    def json(self):
        """The content of `wellspring diagnose --json` as a dict: rungs, verdict, causes, advice and caveats."""
        return json.loads(self._content)

    def html(self):
        """The page of `wellspring diagnose --html`."""
        return self._page

    def __str__(self):
        return self._report

    def __repr__(self):
        return f"<wellspring.Diagnosis {self.verdict}, {self.share_of_ceiling:.3f} of the ceiling>"


def diagnose(step, loader, *, cached=None, samples=None, seconds=60, resident=8, synchronise=None,
             name="training"):
    """Measures how fast `step` would run if data were free, and what its loader costs. Returns a Diagnosis.

    step          function of a batch: one training step. It must not change the batch.
    loader        iterable of batches, such as a DataLoader, or a function that returns one
    cached        {stage: loader}, along the data path: each loader has this stage and those before it cached.
                  {"reading": a, "decoding": b} finds out what reading, decoding and the rest cost. If a stage is
                  a cause, the loader runs again with every other batch from the cached one, to confirm it.
    samples       per batch; default: loader.batch_size, or else a batch counts as one sample
    seconds       time limit; it ends earlier when all intervals are within 2 %
    resident      number of batches of the loader that are kept as the ceiling
    synchronise   function that waits for the work that steps have enqueued; default: waits for PyTorch's GPU
                  if PyTorch uses one
    name          title of the report

    Exceptions of step and loader continue here.
    """
    for argument, value in (("step", step), ("synchronise", synchronise or _wait_for_pytorch)):
        if not callable(value):
            raise TypeError(f"{argument} must be callable, not {type(value).__name__}")
    if isinstance(seconds, bool) or not isinstance(seconds, numbers.Real):
        raise TypeError(f"seconds must be a number, not {type(seconds).__name__}")
    if not 0 < seconds <= DAY:
        raise _core.ConfigError(f"seconds = {seconds} is out of range\n  choose a number above 0, at most {DAY}")
    clock = perf_counter
    synchronise = synchronise or _wait_for_pytorch
    batches = _Batches("loader", loader)
    stages = {text("a key of cached", stage): _Batches(f"cached['{stage}']", other) for stage, other in (cached or {}).items()}
    resident = whole("resident", resident, 1, 1 << 20)
    try:
        kept = []
        while len(kept) < resident and not batches.length:
            kept.append(next(batches))
        samples = getattr(batches.source, "batch_size", None) if samples is None else samples
        notes = ["a batch counts as one sample: samples= says how many it has"] if samples is None else []
        shapes = len({_shapes(batch) for batch in kept})
        if shapes > 1:
            notes.append(f"the first {len(kept)} batches have {shapes} different shapes: if the time of a step depends on "
                         "the shape, the ceiling is the mean over these batches only")
        samples = 1 if samples is None else whole("samples", samples, 1, 1 << 40)

        def rung(name, stage, batches, ahead, step=step, apart=False, each=1):
            return name, stage, samples, apart, _runner(clock, synchronise, batches, step, ahead, each)

        rungs = [rung("resident batches", "", itertools.cycle(kept), lambda: 0)]
        stage = "loading" if not stages else "the other stages"
        for name_of, other in reversed(stages.items()):
            rungs.append(rung(f"{name_of} cached", stage, other, other.ahead))
            stage = name_of
        rungs.append(rung("as configured", stage, batches, batches.ahead))
        rungs.append(rung("loader alone, no step", "", batches, batches.ahead, lambda batch: None, apart=True))
        tests = [rung(f"every other batch with {stage} cached", stage, _alternating(batches, other),
                      lambda other=other: 2 * max(batches.ahead(), other.ahead()), each=2)
                 for stage, other in stages.items()]

        def all_notes():
            ends = [f"{each.name} began again after every {each.length} batches, which is part of its time"
                    for each in (batches, *stages.values()) if each.length]
            return notes + ends

        lead = f"wellspring {_core.__version__}; {samples} samples per step"
        return Diagnosis(*_core.diagnose(text("name", name), lead, rungs, tests, float(seconds), clock, all_notes))
    finally:
        for each in (batches, *stages.values()):
            each.close()  # also after an exception, whose traceback keeps them
