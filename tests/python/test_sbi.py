"""Samples at given latents, and the benchmark's tasks."""

import copy
import importlib.util
import math
import os
import pathlib
import pickle
import re
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import numpy as np

import wellspring as ws
import wellspring.sbi

EXAMPLE = pathlib.Path(os.environ["WELLSPRING_SOURCE"], "python/examples/torch_inference.py")
HAS_TORCH = importlib.util.find_spec("torch") is not None
needs_torch = unittest.skipUnless(HAS_TORCH, "PyTorch is not installed in the Python of this build")


class GivenLatents(unittest.TestCase):
    def test_the_drawn_ones_give_the_drawn_samples(self):
        for task in ws.sbi.tasks():
            g = ws.Generator("sbi", task=task, seed=3)
            drawn = g.batch(7, 20)
            for latents in (drawn.latents, drawn.latents.astype(np.float64), drawn.latents.tolist()):
                given = g.batch(7, 20, latents=latents)
                for name in drawn:
                    np.testing.assert_array_equal(given[name], drawn[name])

    def test_into_the_callers_arrays(self):
        g = ws.Generator("gaussian_linear")
        x = np.empty((3, 4), np.float32)
        g.batch(0, 3, latents=np.full((3, 4), 2, np.float32), out={"x": x})
        self.assertFalse(np.array_equal(x, g.batch(0, 3).x))

    def test_equal_the_command_line(self):
        with tempfile.TemporaryDirectory() as folder:
            latents = np.linspace(-0.9, 0.9, 10).reshape(5, 2)  # f64
            np.savez(f"{folder}/in.npz", latents=latents)
            np.save(f"{folder}/in.npy", latents)
            for file in ("in.npz", "in.npy"):
                subprocess.run([os.environ["WELLSPRING_PROGRAM"], "export", "sbi", "task=two_moons", "--latents", file,
                                "--first", "2", "--out", "out.npz"], check=True, capture_output=True, cwd=folder)
                with np.load(f"{folder}/out.npz") as arrays:
                    want = ws.Generator("sbi", task="two_moons").batch(2, 5, latents=latents)
                    np.testing.assert_array_equal(arrays["x"], want.x)
                    np.testing.assert_array_equal(arrays["latents"], latents.astype(np.float32))
                    self.assertIn("given_latents", str(arrays["metadata"]))

    def test_refuses_wrong_arrays(self):
        g = ws.Generator("sbi", task="two_moons")
        for latents, part in (([[0, 0]], "shape (1, 2), not (2, latents)"), ([0, 0], "shape (2,)"),
                              ([[0, 0], [0, 1.5]], "row 1, column 1 (theta1) is 1.5"),
                              ([[0, 0], [math.nan, 0]], "row 1, column 0"),
                              ([[0], [0]], "1 value per sample")):
            with self.subTest(latents), self.assertRaisesRegex(ws.ConfigError, re.escape(part)):
                g.batch(0, 2, latents=latents)
        with self.assertRaisesRegex(ws.ConfigError, "shapes cannot make samples at given latents"):
            ws.Generator("shapes").batch(0, 1, latents=[[0]])
        with self.assertRaisesRegex(TypeError, "latents must be an array of numbers"):
            g.batch(0, 1, latents="theta")

    def test_of_the_command_line_are_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            np.save(f"{folder}/t.npy", np.zeros((2, 2), np.float32))
            np.save(f"{folder}/flat.npy", np.zeros(2, np.float32))
            for arguments, part in ((["sbi", "--latents", "t.npy", "--count", "3"], "t.npy has 2 rows"),
                                    (["sbi", "--latents", "flat.npy"], "[samples, latents]"),
                                    (["sbi", "--latents", "none.npz"], "none.npz"),
                                    (["shapes", "--latents", "t.npy"], "shapes cannot")):
                done = subprocess.run([os.environ["WELLSPRING_PROGRAM"], "export", *arguments, "--out", "out.npz"],
                                      capture_output=True, text=True, cwd=folder)
                self.assertIn(done.returncode, (2, 3), done.stderr)
                self.assertIn(part, done.stderr)


class Pickling(unittest.TestCase):
    def test_makes_the_same_generator(self):
        g = ws.Generator("shapes", size=24, seed=5, classes=4, augment=[{"flip_x": 1}])
        again = pickle.loads(pickle.dumps(g))
        self.assertEqual(again.parameters, g.parameters)
        np.testing.assert_array_equal(again.batch(3, 4).x, g.batch(3, 4).x)


class Column:
    """The members of a column in device memory."""

    def __init__(self, array):
        self.__dlpack__, self.__dlpack_device__ = array.__dlpack__, array.__dlpack_device__


class DeviceGenerator:
    """Stands for a generator on a device."""

    def __init__(self, generator):
        self._generator = generator

    def batch(self, *arguments, **named):
        made = self._generator.batch(*arguments, **named)
        return ws.Batch({name: Column(column) for name, column in made.items()})


class Tasks(unittest.TestCase):
    def test_noise_is_new_in_every_call_unless_ids_are_given(self):
        task = ws.sbi.task("gaussian_mixture")
        theta = np.zeros((4, 2), np.float32)
        first, second = task.simulator(theta), task.simulator(theta)
        self.assertFalse(np.array_equal(first, second))
        np.testing.assert_array_equal(task.simulator(theta, first=0), first)
        np.testing.assert_array_equal(task.simulator(theta[0], first=0), first[0])

    def test_copies_are_refused(self):
        task = ws.sbi.task("gaussian_mixture")
        for what in (task, task.simulator, task.get_simulator(max_calls=3)):
            for make in (copy.deepcopy, pickle.dumps):
                with self.subTest(what=what, make=make), self.assertRaisesRegex(TypeError, "(?s)same noise.*num_workers=1"):
                    make(what)
        self.assertRaisesRegex(TypeError, "same noise", copy.copy, task)

    def test_forked_processes_must_choose_ids(self):
        task = ws.sbi.task("gaussian_mixture")
        theta = np.zeros((4, 2), np.float32)
        with mock.patch("os.getpid", return_value=os.getpid() + 1):
            with self.assertRaisesRegex(ws.ConfigError, "(?s)same noise.*first="):
                task.simulator(theta)
            chosen = task.simulator(theta, first=0)
        np.testing.assert_array_equal(chosen, task.simulator(theta))

    @needs_torch
    def test_columns_of_a_device_become_tensors_or_arrays(self):
        """A column of a device has only the members of DLPack; these columns are in host memory."""
        import torch

        task = ws.sbi.task("gaussian_mixture")
        theta = np.zeros((4, 2), np.float32)
        want = task.simulator(theta, first=0)
        with mock.patch.object(task, "generator", DeviceGenerator(task.generator)):
            for given, kind in ((theta, np.ndarray), (torch.from_numpy(theta), torch.Tensor)):
                for rows in (slice(None), 0):
                    x = task.simulator(given[rows], first=0)
                    self.assertIsInstance(x, kind)
                    np.testing.assert_array_equal(x, want[rows])
                self.assertEqual(task.get_simulator()(given).shape, (4, 2))

    def test_columns_of_a_device_need_torch(self):
        task = ws.sbi.task("gaussian_mixture")
        with mock.patch.object(task, "generator", DeviceGenerator(task.generator)), \
                mock.patch.dict(sys.modules, {"torch": None}), self.assertRaisesRegex(ImportError, "on a GPU needs torch"):
            task.simulator(np.zeros((4, 2), np.float32))

    def test_have_ten_observations(self):
        self.assertEqual(len(ws.sbi.tasks()), 10)
        for name in ws.sbi.tasks():
            task = ws.sbi.task(name)
            x = task.simulator(task.true_parameters)
            self.assertEqual(x.shape, task.observations.shape, name)
        # Sampling noise of radius 0.1: the simulation at the true parameters is near the observation.
        task = ws.sbi.task("two_moons")
        distance = np.abs(task.simulator(task.true_parameters) - task.observations)
        self.assertLess(distance.max(), 0.5)  # two points of a half circle of radius 0.1 + 10 sigma
        with self.assertRaisesRegex(ws.ConfigError, "not a task"):
            ws.sbi.task("three_moons")

    def test_simulators_of_sbibm_count_and_stop(self):
        for name in ws.sbi.tasks():
            task = ws.sbi.task(name)
            simulator = task.get_simulator(max_calls=12)
            shape = (task.num_observations, task.dim_parameters, task.dim_data)
            self.assertEqual(shape, (10, len(task.true_parameters[0]), len(task.observations[0])))
            x = simulator(task.true_parameters)
            np.testing.assert_array_equal(x, task.simulator(task.true_parameters, first=0))
            self.assertEqual(simulator(task.true_parameters[0]).shape, (1, task.dim_data))
            with self.assertRaisesRegex(ws.sbi.SimulationBudgetExceeded, "2 more .* max_calls = 12: 11 were made"):
                simulator(task.true_parameters[:2])
            self.assertEqual(simulator.num_simulations, 11)  # the refused ones were not made
            simulator(task.true_parameters[:1])
            self.assertEqual((simulator.name, simulator.num_simulations, simulator.max_calls), (name, 12, 12))
            self.assertEqual(task.get_simulator()(task.true_parameters).shape, (10, task.dim_data))
        self.assertRaisesRegex(ws.ConfigError, "max_calls", task.get_simulator, -1)

    @needs_torch
    def test_priors_and_observations_of_sbibm(self):
        import torch

        for name in ws.sbi.tasks():
            task = ws.sbi.task(name)
            torch.manual_seed(1)
            drawn = task.get_prior()(num_samples=7)
            torch.manual_seed(1)
            torch.testing.assert_close(drawn, task.get_prior_dist().sample((7,)), rtol=0, atol=0)
            self.assertEqual((drawn.shape, task.get_prior()().shape), ((7, task.dim_parameters), (1, task.dim_parameters)))
            self.assertEqual(task.get_simulator()(drawn).shape, (7, task.dim_data))
            for number in (1, 10):
                for got, rows in ((task.get_observation(number), task.observations),
                                  (task.get_true_parameters(num_observation=number), task.true_parameters)):
                    self.assertIsInstance(got, torch.Tensor)
                    np.testing.assert_array_equal(got, rows[number - 1 : number])
        self.assertRaisesRegex(ws.ConfigError, "num_observation = 0", task.get_observation, 0)
        self.assertRaisesRegex(ws.ConfigError, "num_observation = 11", task.get_true_parameters, 11)

    @needs_torch
    def test_the_prior_is_the_generators(self):
        import torch

        torch.manual_seed(0)
        count = 20000
        for name in ws.sbi.tasks():
            task = ws.sbi.task(name)
            drawn = torch.from_dlpack(task.generator.batch(0, count).latents)
            other = task.prior.sample((count,))
            self.assertTrue(torch.isfinite(task.prior.log_prob(drawn[drawn.abs().amin(1) > 0])).all(), name)
            # Distances between the empirical distributions (Kolmogorov-Smirnov): 5 / sqrt(n) is exceeded by
            # chance with probability 2 exp(-25), which is 3e-11.
            for k in range(drawn.shape[1]):
                both = torch.cat([drawn[:, k], other[:, k]])
                signs = torch.cat([torch.ones(count), -torch.ones(count)])[both.argsort()]
                self.assertLess(float(signs.cumsum(0).abs().max()) / count, 5 / math.sqrt(count), f"{name} {k}")

    @needs_torch
    def test_densities_integrate_to_one(self):
        """E_q[p(x | theta) / q(x)] = 1 for x from a wide law q."""
        import torch

        torch.manual_seed(0)
        grid = torch.linspace(-1.2, 1.2, 2001, dtype=torch.float64)
        points = torch.cartesian_prod(grid, grid)
        for name, theta in (("two_moons", [0.2, 0.3]), ("gaussian_mixture", [0.1, -0.1])):
            log = ws.sbi.task(name).log_likelihood(torch.tensor([theta], dtype=torch.float64), points)
            mass = float(log.exp().sum() * (grid[1] - grid[0]) ** 2)
            # The wide half of the mixture reaches beyond the square: P(|z - 0.1| < 1.2)^2 of it is inside.
            inside = 0.5 * (math.erf(1.3 / math.sqrt(2)) + math.erf(1.1 / math.sqrt(2)))
            self.assertAlmostEqual(mass, 1 if name == "two_moons" else 0.5 + 0.5 * inside**2, delta=2e-3)

    @needs_torch
    def test_likelihoods_match_the_simulators(self):
        """Fisher's identity: the expected score at the true parameters is zero."""
        import torch

        for name, width in (("gaussian_linear", 0), ("gaussian_linear_uniform", 0), ("gaussian_mixture", 0), ("slcp", 0)):
            task = ws.sbi.task(name)
            count = 40000
            theta = torch.from_numpy(task.true_parameters[:1]).expand(count, -1).double().clone().requires_grad_()
            x = task.simulator(theta.detach())
            self.assertIsInstance(x, torch.Tensor)
            task.log_likelihood(theta, x.double()).sum().backward()
            score = theta.grad
            z = score.mean(0) / (score.std(0) / math.sqrt(count))
            self.assertLess(float(z.abs().max()), 6, f"{name} {z}")  # 2e-9 by chance

    @needs_torch
    def test_tasks_without_a_closed_form_say_so(self):
        with self.assertRaisesRegex(ws.ConfigError, "sir has no likelihood in closed form"):
            ws.sbi.task("sir").log_likelihood([[0, 0]], [[0]])

    @unittest.skipUnless(HAS_TORCH and importlib.util.find_spec("sbi"), "sbi is not installed in the Python of this build")
    def test_the_package_sbi_learns_a_posterior(self):
        import torch
        from sbi.inference import NPE
        from sbi.utils.user_input_checks import check_sbi_inputs, process_prior, process_simulator

        torch.manual_seed(0)
        self.addCleanup(torch.set_num_threads, torch.get_num_threads())
        logs = tempfile.TemporaryDirectory()  # of sbi, in the current folder
        self.addCleanup(logs.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(logs.name)
        torch.set_num_threads(1)  # small matrices
        task = ws.sbi.task("two_moons")
        prior, _, returns_numpy = process_prior(task.prior)
        simulator = process_simulator(task.simulator, prior, returns_numpy)
        check_sbi_inputs(simulator, prior)
        theta = prior.sample((500,))
        x = simulator(theta)
        self.assertEqual((theta.shape, x.shape), ((500, 2), (500, 2)))
        trainer = NPE(prior=prior, show_progress_bars=False)
        posterior = trainer.build_posterior(trainer.append_simulations(theta, x).train(training_batch_size=50, max_num_epochs=100))
        observation = torch.from_numpy(task.observations[0])
        samples = posterior.sample((500,), x=observation, show_progress_bars=False)

        def distance(at):
            """Median distance of new simulations from the observation."""
            return float((task.simulator(at) - observation).norm(dim=1).median())

        # 0.20 and 0.75 in PyTorch 2.15 and sbi 0.27; the noise of a simulation has a radius of 0.1.
        self.assertLess(distance(samples), 0.5 * distance(theta))

    @needs_torch
    @unittest.skipIf("libasan" in os.environ.get("LD_PRELOAD", ""), "a sanitized training takes minutes")
    def test_the_example_runs(self):
        for task in ("two_moons", "slcp"):
            done = subprocess.run([sys.executable, str(EXAMPLE), "--task", task, "--simulations", "4000", "--epochs", "2",
                                   "--samples", "400", "--chain", "20", "--classifier", "100"], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            flow, prior = map(float, re.search(r"C2ST ([\d.]+), of the prior ([\d.]+)", done.stdout).groups())
            self.assertTrue(0.4 <= flow <= 1 and prior > 0.8, done.stdout)


if __name__ == "__main__":
    if not HAS_TORCH:
        print("PyTorch is not installed in the Python of this build: tests that need it are skipped")
    unittest.main()
