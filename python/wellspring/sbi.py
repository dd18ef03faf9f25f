"""Tasks of the simulation-based inference benchmark, for PyTorch and the packages sbi and sbibm.

    import wellspring as ws
    task = ws.sbi.task("two_moons")
    theta = task.prior.sample((1000,))
    x = task.simulator(theta)

Priors, simulators and likelihoods: J.-M. Lueckmann, J. Boelts, D. Greenberg, P. Goncalves, J. Macke,
"Benchmarking simulation-based inference", AISTATS 2021, appendix T, and sbibm 1.1.0.
"""

import functools
import importlib.resources
import json
import math
import os
import sys

import numpy as np

from . import _core
from ._arguments import LARGEST_ID, package, text, whole
from ._generator import Generator


@functools.cache
def _published():
    """Observations and parameters that sbibm ships, under its licence."""
    file = importlib.resources.files(__package__).joinpath("sbi_observations.json")
    return json.loads(file.read_text(encoding="utf-8"))["tasks"]


def tasks():
    """Names of the tasks."""
    return list(_published())


def task(name, *, seed=0, device="cpu", threads=0):
    """The task of that name. `seed`: key of the simulator's noise."""
    if text("name", name) not in _published():
        raise _core.ConfigError(f"name: '{name}' is not a task\n  choose one of {', '.join(tasks())}")
    return Task(name, seed, device, threads)


_WITHOUT_COPIES = ("simulate all theta in one call, which uses all cores (sbi: num_workers=1); or make a task in each process and "
                   "choose different ids with simulator(theta, first=...)")


class SimulationBudgetExceeded(_core.ConfigError):
    """A simulator was asked for more simulations than its max_calls."""


class Simulator:
    """The simulator of a task, as in sbibm: it counts simulations, and x always has two axes. It cannot be pickled.

    max_calls         largest number of simulations, one per row of parameters; None: no limit
    num_simulations   number of simulations so far
    """

    def __init__(self, task, max_calls):
        self.name, self.dim_parameters, self.dim_data = task.name, task.dim_parameters, task.dim_data
        self.max_calls = None if max_calls is None else whole("max_calls", max_calls, 0, LARGEST_ID)
        self.num_simulations = 0
        self._task = task

    def __call__(self, parameters):
        count = len(_rows(parameters)[0])
        if self.max_calls is not None and self.num_simulations + count > self.max_calls:
            raise SimulationBudgetExceeded(f"{count} more simulations exceed max_calls = {self.max_calls}: {self.num_simulations} "
                                           "were made\n  ask for fewer, or make a simulator with a larger max_calls")
        x = self._task.simulator(parameters)
        self.num_simulations += count
        return x.reshape(-1, self.dim_data)


class Task:
    """Prior and simulator of a task. The methods get_... work as in sbibm, which numbers observations from 1.

    name             as in tasks()
    generator        the Generator that simulates it
    observations     [10, features] the benchmark's fixed observations, a NumPy array
    true_parameters  [10, parameters] the parameters that they were simulated with
    num_observations, dim_data, dim_parameters   sizes of these arrays

    A task cannot be copied or pickled, as the workers of sbi would (num_workers > 1): every copy would draw the same
    noise. One call of the simulator uses all cores; so does sbi with num_workers=1.
    """

    def __init__(self, name, seed, device, threads):
        self.name = name
        self.generator = Generator("sbi", task=name, seed=seed, device=device, threads=threads)
        self.observations, self.true_parameters = (
            np.array(_published()[name][key], np.float32) for key in ("observations", "parameters"))
        self.num_observations, self.dim_data = self.observations.shape
        self.dim_parameters = self.true_parameters.shape[1]
        self._next = 0
        self._process = os.getpid()

    def __reduce__(self):
        raise TypeError(f"{self!r} cannot be copied or pickled: every copy would draw the same noise\n  {_WITHOUT_COPIES}")

    @property
    def prior(self):
        """The prior as a torch.distributions.Distribution (imports PyTorch)."""
        import torch.distributions as laws
        from torch import tensor

        uniform = {"gaussian_linear_uniform": (1.0, 10), "gaussian_mixture": (10.0, 2), "two_moons": (1.0, 2),
                   "slcp": (3.0, 5), "slcp_distractors": (3.0, 5)}
        if self.name in uniform:
            bound, count = uniform[self.name]
            law = laws.Uniform(tensor([-bound] * count), tensor([bound] * count))
        elif self.name == "gaussian_linear":
            law = laws.Normal(tensor([0.0] * 10), math.sqrt(0.1))
        elif self.name == "sir":
            law = laws.LogNormal(tensor([math.log(0.4), math.log(0.125)]), tensor([0.5, 0.2]))
        elif self.name == "lotka_volterra":
            law = laws.LogNormal(tensor([-0.125, -3.0] * 2), 0.5)
        else:
            return laws.MultivariateNormal(tensor([0.0] * 10), precision_matrix=tensor(_glm_precision()))
        return laws.Independent(law, 1)

    def simulator(self, theta, first=None):
        """Samples at the parameters theta, [n, parameters]: a tensor if theta is one, otherwise a NumPy array.

        Every call draws new noise, the random numbers of the next n sample ids; `first` chooses the ids
        from first on. With device="cuda", x is made there; a tensor is copied to the device of theta, an array
        into host memory (imports PyTorch). A forked process must choose ids.
        """
        given, single = _rows(theta)
        if first is None:
            if os.getpid() != self._process:
                raise _core.ConfigError(f"{self!r} was made before this process was forked: every process would draw the "
                                        f"same noise\n  {_WITHOUT_COPIES}")
            first, self._next = self._next, self._next + len(given)
        x = self.generator.batch(whole("first", first, 0, LARGEST_ID), len(given), latents=given).x
        x = _like(theta, x)
        return x[0] if single else x

    def log_likelihood(self, theta, x):
        """log p(x | theta) as a tensor [n], for theta [n, parameters] and x [n, features] or one x (PyTorch).

        Only tasks with a closed form: gaussian_linear, gaussian_linear_uniform, gaussian_mixture, two_moons, slcp.
        """
        if self.name not in _LIKELIHOODS:
            raise _core.ConfigError(f"{self.name} has no likelihood in closed form\n"
                                    f"  only {', '.join(_LIKELIHOODS)} have one")
        import torch

        return _LIKELIHOODS[self.name](torch.atleast_2d(torch.as_tensor(theta)), torch.atleast_2d(torch.as_tensor(x)))

    def get_prior(self):
        """A function that draws parameters: prior(num_samples=1) is a tensor [num_samples, parameters]."""
        def prior(num_samples=1):
            return self.prior.sample((num_samples,))
        return prior

    def get_prior_dist(self):
        """The property `prior`."""
        return self.prior

    def get_simulator(self, max_calls=None):
        """A Simulator. It raises SimulationBudgetExceeded instead of making more than max_calls simulations."""
        return Simulator(self, max_calls)

    def get_observation(self, num_observation):
        """Observation 1 to 10 as a tensor [1, features]."""
        return self._row(self.observations, num_observation)

    def get_true_parameters(self, num_observation):
        """The parameters of observation 1 to 10 as a tensor [1, parameters]."""
        return self._row(self.true_parameters, num_observation)

    def _row(self, rows, num_observation):
        from torch import tensor

        k = whole("num_observation", num_observation, 1, self.num_observations)
        return tensor(rows[k - 1 : k])

    def __repr__(self):
        return f"<wellspring.sbi.Task {self.name}>"


def _is_tensor(value):
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _rows(theta):
    """theta as rows of a NumPy array, and whether it was a single row."""
    values = np.asarray(theta.detach().cpu() if _is_tensor(theta) else theta, np.float32)
    return np.atleast_2d(values), values.ndim == 1


def _like(theta, x):
    """The column x as a tensor on the device of theta, or as a NumPy array if theta is not a tensor."""
    if _is_tensor(theta):
        return package("torch", "simulator").from_dlpack(x).to(theta.device)
    if isinstance(x, np.ndarray):
        return x
    return package("torch", "simulator(theta) on a GPU").from_dlpack(x).cpu().numpy()


def _glm_precision():
    """Precision of the prior of bernoulli_glm: offset, and second differences of the filter (sbibm)."""
    count = 9
    difference = np.eye(count) - np.eye(count, k=-1)
    smooth = difference @ difference + np.diag(np.sqrt(np.arange(count) / count))
    precision = np.zeros((count + 1, count + 1))
    precision[0, 0] = 0.5
    precision[1:, 1:] = smooth.T @ smooth
    return precision.astype(np.float32)


def _normal(z, sigma):
    """Log densities of independent normal numbers, added up."""
    return (-0.5 * (z / sigma) ** 2 - math.log(sigma) - 0.5 * math.log(2 * math.pi)).sum(-1)


def _mixture(theta, x):
    import torch

    return torch.logaddexp(_normal(x - theta, 1.0), _normal(x - theta, 0.1)) - math.log(2)


def _two_moons(theta, x):
    """A radius from N(0.1, 0.01^2) and a uniform angle in (-pi / 2, pi / 2): density p(r) / (pi r)."""
    import torch

    first = x[..., 0] + (theta[..., 0] + theta[..., 1]).abs() / math.sqrt(2) - 0.25
    second = x[..., 1] - (theta[..., 1] - theta[..., 0]) / math.sqrt(2)
    r = torch.hypot(first, second)
    density = _normal((r - 0.1).unsqueeze(-1), 0.01) - torch.log(math.pi * r)
    return torch.where(first > 0, density, -math.inf)


def _slcp(theta, x):
    """Four points from a normal law with deviations t3^2 and t4^2 and correlation tanh t5."""
    import torch

    points = x.double().reshape(*x.shape[:-1], 4, 2) - theta[..., None, :2].double()
    s1, s2 = (theta[..., 2:4].double() ** 2).unbind(-1)
    r = torch.tanh(theta[..., 4].double())
    v1, v2, c = s1**2 + 1e-6, s2**2 + 1e-6, r * s1 * s2  # sbibm adds 1e-6 to both variances
    determinant = v1 * v2 - c**2
    square = (v2[..., None] * points[..., 0] ** 2 + v1[..., None] * points[..., 1] ** 2
              - 2 * c[..., None] * points[..., 0] * points[..., 1]) / determinant[..., None]
    return (-0.5 * square).sum(-1) - 2 * torch.log(determinant) - 4 * math.log(2 * math.pi)


def _gaussian(theta, x):
    return _normal(x - theta, math.sqrt(0.1))


_LIKELIHOODS = {
    "gaussian_linear": _gaussian,
    "gaussian_linear_uniform": _gaussian,
    "gaussian_mixture": _mixture,
    "two_moons": _two_moons,
    "slcp": _slcp,
}
