"""diagnose(): plants on a simulated clock, loaders that end, errors of others."""

import multiprocessing
import os
import pathlib
import random
import signal
import subprocess
import sys
import time
import unittest
import unittest.mock

import wellspring as ws

EXAMPLE = pathlib.Path(os.environ["WELLSPRING_SOURCE"], "python/examples/torch_diagnosis.py")


class Simulation:
    """A clock that only steps and loaders move. Times in milliseconds; noise is that of a logarithm."""

    def __init__(self, noise=0.02):
        self.now, self.noise, self.random = 0.0, noise, random.Random(1)

    def passes(self, milliseconds):
        self.now += 1e-3 * milliseconds * self.random.lognormvariate(0, self.noise)

    def loader(self, milliseconds, batches=50):
        for i in range(batches):
            self.passes(milliseconds)
            yield i

    def diagnose(self, step=2, loading=8, batches=50, **arguments):
        return self.diagnose_with(lambda batch: self.passes(step), lambda: self.loader(loading, batches), **arguments)

    def diagnose_with(self, step, loader, **arguments):
        """The step uses all processors all the time, so that its processor time is the simulated one."""
        processors = len(os.sched_getaffinity(0))
        with (unittest.mock.patch("wellspring._diagnosis.perf_counter", lambda: self.now),
              unittest.mock.patch("wellspring._diagnosis.process_time", lambda: self.now * processors)):
            return ws.diagnose(step, loader, **{"seconds": 20, "samples": 4} | arguments)


class Verdicts(unittest.TestCase):
    def test_a_slow_loader_is_found(self):
        found = Simulation().diagnose()
        self.assertEqual(found.verdict, "highly")
        self.assertAlmostEqual(found.lost, 0.8, delta=0.05)  # 2 of 10 ms remain
        self.assertAlmostEqual(found.share_of_ceiling, 0.2, delta=0.05)
        self.assertLess(found.lost_interval[0], found.lost_interval[1])
        report = found.json()
        self.assertEqual([rung["name"] for rung in report["rungs"]],
                         ["resident batches", "as configured", "loader alone, no step"])
        self.assertEqual([cause["stage"] for cause in report["verdict"]["causes"]], ["loading"])
        self.assertAlmostEqual(report["rungs"][1]["wait"], 0.8, delta=0.05)
        self.assertAlmostEqual(report["rungs"][0]["samples_per_second"], 4 * 500, delta=200)
        self.assertIn("HIGHLY input-bound", str(found))
        self.assertIn("worker processes", str(found))
        self.assertIn("HIGHLY input-bound", found.html())

    def test_a_slow_step_is_not_the_loaders_fault(self):
        found = Simulation().diagnose(step=100, loading=0.5)
        self.assertEqual(found.verdict, "not")
        self.assertEqual(found.json()["verdict"]["causes"], [])

    def test_noise_leaves_the_verdict_open(self):
        self.assertEqual(Simulation(noise=1.5).diagnose(step=80, loading=8, seconds=60).verdict, "inconclusive")

    def test_cached_stages_share_the_cost(self):
        simulation = Simulation()
        cached = {"reading": lambda: simulation.loader(3), "decoding": lambda: simulation.loader(0.01)}
        found = simulation.diagnose(step=2, loading=9, cached=cached)
        report = found.json()
        self.assertEqual([(rung["name"], rung["stage"]) for rung in report["rungs"]][1:4],
                         [("decoding cached", "the other stages"), ("reading cached", "decoding"), ("as configured", "reading")])
        # Rates of 500, 500, 200 and 91 steps/s.
        self.assertEqual([cause["stage"] for cause in report["verdict"]["causes"]], ["decoding", "reading"])
        self.assertTrue(all(abs(rung["busy"] - 1) < 1e-6 for rung in report["rungs"]), report["rungs"])

    def test_batches_loaded_ahead_do_not_hide_a_slow_loader(self):
        """A loader that takes 11 ms, with three batches ahead: in the 25 steps of 10 ms of a window, these would hide it."""
        simulation = Simulation(noise=0.001)

        class Ahead:
            batch_size, num_workers, prefetch_factor = 4, 1, 3

            def __iter__(self):
                ready, free = [], simulation.now  # times at which batches are ready, and the worker is free
                while True:
                    while len(ready) < 3 and free <= simulation.now or not ready:
                        free += 11e-3
                        ready.append(free)
                    if len(ready) == 3 and free < simulation.now:
                        free = simulation.now  # it had to wait
                    simulation.now = max(simulation.now, ready.pop(0))
                    yield 0

        found = simulation.diagnose_with(lambda batch: simulation.passes(10), Ahead())
        self.assertEqual(found.verdict, "moderately")
        self.assertAlmostEqual(found.lost, 1 / 11, delta=0.02)

    def test_half_of_the_batches_from_a_cache_confirm_a_stage(self):
        simulation = Simulation()
        found = simulation.diagnose(step=2, loading=9, cached={"reading": lambda: simulation.loader(0.01)})
        report = found.json()
        self.assertEqual([(cause["stage"], cause["confirmed"]) for cause in report["verdict"]["causes"]], [("reading", True)])
        tried = report["counterfactuals"]
        self.assertEqual([(one["what"], one["stages"]) for one in tried],
                         [("every other batch with reading cached", ["reading"])])
        self.assertTrue(tried[0]["helps"])
        self.assertAlmostEqual(tried[0]["gain"], 11 / 6.5, delta=0.1)  # 2 ms + half of 9 ms, instead of 2 ms + 9 ms
        self.assertIn("confirms reading", str(found))

    def test_a_stage_whose_half_does_not_help_is_not_confirmed(self):
        """Reading takes three times as long after a batch from elsewhere, as from a disk that has to seek."""
        simulation, previous = Simulation(), [None]

        def loader(name, milliseconds):
            while True:
                simulation.passes(milliseconds * (1 if previous[0] == name else 3))
                previous[0] = name
                yield name

        found = simulation.diagnose_with(lambda batch: simulation.passes(2), lambda: loader("files", 8),
                                         cached={"reading": lambda: loader("memory", 0.01)})
        report = found.json()
        self.assertEqual([(cause["stage"], cause["confirmed"]) for cause in report["verdict"]["causes"]], [("reading", False)])
        self.assertFalse(report["counterfactuals"][0]["helps"])
        self.assertLess(report["counterfactuals"][0]["gain"], 0.95)  # 24 + 2 + 2 ms for two batches, instead of 10 ms each
        self.assertIn("NOT confirmed: reading", str(found))

    def test_stages_that_are_no_cause_are_not_tested(self):
        simulation = Simulation()
        cached = {"reading": lambda: simulation.loader(8.9), "decoding": lambda: simulation.loader(0.01)}
        report = simulation.diagnose(step=2, loading=9, cached=cached).json()
        self.assertEqual([one["stages"] for one in report["counterfactuals"]], [["decoding"]])


class Loaders(unittest.TestCase):
    def test_that_end_begin_again(self):
        report = Simulation().diagnose(batches=3).json()
        self.assertTrue(any("again after every 3 batches" in line for line in report["caveats"]), report["caveats"])

    def test_with_batches_of_several_shapes_are_noted(self):
        class Array:
            def __init__(self, *shape):
                self.shape = shape

        simulation = Simulation()

        def batches(widths):
            for width in widths:
                simulation.passes(1)
                yield {"x": [Array(4, width)], "y": Array(4)}

        for widths, shapes in (([8, 9, 8, 10], 3), ([8] * 4, 1)):
            found = simulation.diagnose_with(lambda batch: simulation.passes(9), lambda: batches(widths), seconds=5)
            notes = [note for note in found.json()["caveats"] if "different shapes" in note]
            self.assertEqual(len(notes), shapes > 1, notes)
            self.assertTrue(shapes == 1 or "batches have 3 different shapes" in notes[0])

    def test_that_cannot_begin_again_are_refused(self):
        with self.assertRaisesRegex(ws.ConfigError, "loader gave 20 batches and cannot begin again"):
            ws.diagnose(lambda batch: None, iter(range(20)))
        with self.assertRaisesRegex(ws.ConfigError, r"cached\['reading'\] gave 20 batches"):
            ws.diagnose(lambda batch: None, [1], cached={"reading": iter(range(20))})

    def test_without_batches_are_refused(self):
        with self.assertRaisesRegex(ws.ConfigError, "loader gave no batch"):
            ws.diagnose(lambda batch: None, [])

    def test_prefetched_batches_are_used_up_before_the_clock_starts(self):
        class Workers(list):
            num_workers, prefetch_factor = 2, 3

        from wellspring import _diagnosis
        loader = Workers(range(100))
        for source in loader, lambda: loader:
            simulation, untimed = Simulation(), []

            def step(batch):
                simulation.passes(2)

            def clock():
                untimed.append(simulation.now)
                return simulation.now

            batches = _diagnosis._Batches("loader", source)
            self.assertEqual(next(batches), 0)
            wait = lambda: simulation.passes(5)
            times, waits, wall, processor = _diagnosis._runner(clock, wait, batches, step, batches.ahead)(4)
            self.assertEqual((len(times), len(waits), next(batches)), (4, 4, 12))
            self.assertAlmostEqual(sum(times), wall)
            self.assertGreater(times[-1], 6e-3, "includes the wait for the last step")
            self.assertGreaterEqual(processor, 0)
            self.assertGreater(untimed[0], 6e-3, "a step and the wait for it, after six batches without a step")

    def test_generators_of_this_package(self):
        config = {"data": {"size": 8, "sources": [{"name": "s", "kind": "generator", "generator": "shapes"}]},
                  "model": {"name": "mlp"}, "train": {"batch": 4, "steps": 30}}
        simulation, seen = Simulation(), set()

        def step(batch):
            seen.add(batch.x.shape)
            simulation.passes(20)

        def clock():
            simulation.passes(0.1)  # per call
            return simulation.now

        with unittest.mock.patch("wellspring._diagnosis.perf_counter", clock):
            found = ws.diagnose(step, lambda: ws.Mixture(config, set={"device": "cpu"}), seconds=20, samples=4, resident=2)
        self.assertEqual(seen, {(4, 8, 8, 3)})
        self.assertEqual(found.verdict, "not")


class Errors(unittest.TestCase):
    def test_of_the_step_and_the_loader_pass_unchanged(self):
        class Mine(Exception):
            pass

        thrown = Mine("mine")

        def fails(*_):
            raise thrown

        def loader():
            yield 1
            raise thrown

        for call in (lambda: ws.diagnose(fails, [1, 2]), lambda: ws.diagnose(lambda batch: None, loader),
                     lambda: ws.diagnose(lambda batch: None, [1], synchronise=fails)):
            with self.assertRaises(Mine) as caught:
                call()
            self.assertIs(caught.exception, thrown)

    def test_an_interrupt_ends_the_measurement(self):
        steps = []

        def step(batch):
            steps.append(batch)
            if len(steps) == 50:
                os.kill(os.getpid(), signal.SIGINT)

        with self.assertRaises(KeyboardInterrupt):
            ws.diagnose(step, [1])
        self.assertLess(len(steps), 100)

    def test_the_time_limit_names_the_argument(self):
        with self.assertRaisesRegex(ws.ConfigError, r"use at least seconds=\d"):
            ws.diagnose(lambda batch: time.sleep(0.02), [1], seconds=0.01)

    def test_wrong_arguments_are_named(self):
        for error, words, arguments in (
            (TypeError, "step must be callable", {"step": 3}),
            (TypeError, "loader must be an iterable", {"loader": 3}),
            (TypeError, "synchronise must be callable", {"synchronise": 3}),
            (TypeError, "seconds must be a number", {"seconds": "3"}),
            (ws.ConfigError, "seconds = 0", {"seconds": 0}),
            (ws.ConfigError, "resident = 0", {"resident": 0}),
            (ws.ConfigError, "samples = 0", {"samples": 0}),
            (TypeError, "a key of cached must be a string", {"cached": {1: [1]}}),
        ):
            with self.subTest(words), self.assertRaisesRegex(error, words):
                ws.diagnose(**{"step": lambda batch: None, "loader": [1]} | arguments)


class Rows:
    """A data set whose rows take a time, in milliseconds. Workers that start as new processes import it from here."""

    def __init__(self, milliseconds):
        self.milliseconds = milliseconds

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        time.sleep(1e-3 * self.milliseconds)
        return index


class Iterators(unittest.TestCase):
    def test_their_workers_end_although_an_exception_is_kept(self):
        class Loader:
            """A DataLoader whose iterator an exception keeps."""

            num_workers, prefetch_factor = 2, 1

            def __init__(self, batches, persistent):
                self.batches, self.persistent_workers, self.ended = batches, persistent, 0

            def __iter__(self):
                self.left = self.batches
                return self

            def __next__(self):
                self.left -= 1
                if self.left < 0:
                    raise OSError("a worker failed")
                return self.left

            def _shutdown_workers(self):
                self.ended += 1

        def fails(batch):
            raise ZeroDivisionError

        for batches, step, expected in (100, fails, ZeroDivisionError), (0, lambda batch: None, OSError):
            for persistent in False, True:
                loader = Loader(batches, persistent)
                with self.assertRaises(expected):
                    ws.diagnose(step, loader, samples=1)
                self.assertEqual(loader.ended, 0 if persistent else 1)


class PyTorch(unittest.TestCase):
    def setUp(self):
        try:
            import torch.utils.data  # noqa: F401
        except ImportError:
            self.skipTest("PyTorch is not installed")

    def diagnose(self, row, step):
        """Verdict for worker processes and a step that sleep, in milliseconds, after checking that no process is left."""
        import torch
        for seconds in (5, 50):  # five are too few on a busy machine
            loader = torch.utils.data.DataLoader(Rows(row), 4, num_workers=2, prefetch_factor=2)
            try:
                found = ws.diagnose(lambda batch: time.sleep(1e-3 * step), loader, seconds=seconds)
            except ws.ConfigError as error:
                self.assertIn("use at least seconds=", str(error))
                continue
            finally:
                self.assertEqual(multiprocessing.active_children(), [])
            self.assertIn("; 4 samples per step", str(found))
            if found.verdict != "inconclusive":
                return found.verdict
        if os.getloadavg()[0] <= len(os.sched_getaffinity(0)):
            self.fail("no verdict")
        self.skipTest("the machine is too busy for a verdict")

    def test_slow_workers_are_found(self):
        self.assertEqual(self.diagnose(row=3, step=2), "highly")  # 6 ms per batch, by two workers

    def test_fast_workers_are_not_the_cause(self):
        # A batch takes less than a millisecond. On a machine with five programs per processor, waits were up to 6 ms.
        self.assertNotEqual(self.diagnose(row=0, step=50), "highly")

    def test_workers_end_although_an_exception_is_kept(self):
        import torch
        loader = torch.utils.data.DataLoader(Rows(0), 4, num_workers=2)
        try:
            ws.diagnose(lambda batch: 1 / 0, loader)
        except ZeroDivisionError as error:
            kept = error
        self.assertEqual(multiprocessing.active_children(), [])
        self.assertIsNotNone(kept.__traceback__)

    def test_example_runs(self):
        for seconds in ("10", "60"):  # ten are too few on a busy machine
            run = subprocess.run([sys.executable, str(EXAMPLE), "--seconds", seconds], capture_output=True, text=True,
                                 timeout=250, env=os.environ | {"OMP_NUM_THREADS": "1"})
            if "use at least seconds=" not in run.stderr:
                break
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(run.stdout.count(": data cost "), 2, run.stdout)


if __name__ == "__main__":
    unittest.main()
