"""Simulation-based inference with a normalising flow of PyTorch.

    python torch_inference.py --task two_moons --simulations 100000

Trains p(theta | x) on simulated pairs (neural posterior estimation, one round), draws from it at some of the
benchmark's observations, and compares the draws with exact posterior samples by a classifier two-sample test: C2ST is
0.5 for equal distributions and 1 for different ones. With 1000, 10000 or 100000 simulations, it also prints the
benchmark's own result.
"""

import argparse
import math

import torch
from torch import Tensor, nn

import wellspring as ws

# C2ST of the benchmark's neural posterior estimation, for observations 1 to 10, by task and number of simulations. From
# github.com/sbi-benchmark/results (MIT licence), benchmarking_sbi/results/supplement_hyperparameters_snpe.csv, algorithm
# NPE-NSF, rounded: the results of J.-M. Lueckmann et al., AISTATS 2021, with neural spline flows.
PUBLISHED = {
    ("two_moons", 1_000): [0.666, 0.696, 0.677, 0.700, 0.748, 0.711, 0.805, 0.751, 0.719, 0.780],
    ("two_moons", 10_000): [0.542, 0.571, 0.646, 0.674, 0.588, 0.576, 0.617, 0.599, 0.616, 0.634],
    ("two_moons", 100_000): [0.518, 0.515, 0.558, 0.514, 0.524, 0.542, 0.564, 0.584, 0.542, 0.557],
    ("slcp", 1_000): [0.988, 0.975, 0.965, 0.985, 0.966, 0.960, 0.992, 0.989, 0.961, 0.971],
    ("slcp", 10_000): [0.944, 0.938, 0.799, 0.916, 0.849, 0.883, 0.950, 0.898, 0.932, 0.897],
    ("slcp", 100_000): [0.915, 0.900, 0.736, 0.819, 0.820, 0.832, 0.870, 0.812, 0.799, 0.812],
}


class Coupling(nn.Module):
    """Half of theta is scaled and shifted by functions of the other half and of x (L. Dinh et al., RealNVP, 2017)."""

    def __init__(self, parameters: int, features: int, hidden: int) -> None:
        super().__init__()
        self.kept = parameters // 2
        self.net = nn.Sequential(nn.Linear(self.kept + features, hidden), nn.GELU(), nn.Linear(hidden, hidden), nn.GELU(),
                                 nn.Linear(hidden, 2 * (parameters - self.kept)))

    def forward(self, z: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        """theta to noise, and the log determinant."""
        kept, moved = z[:, : self.kept], z[:, self.kept :]
        scale, shift = self.net(torch.cat([kept, x], 1)).chunk(2, 1)
        scale = 3 * torch.tanh(scale / 3)
        return torch.cat([kept, moved * scale.exp() + shift], 1).flip(1), scale.sum(1)

    def inverse(self, z: Tensor, x: Tensor) -> Tensor:
        z = z.flip(1)
        kept, moved = z[:, : self.kept], z[:, self.kept :]
        scale, shift = self.net(torch.cat([kept, x], 1)).chunk(2, 1)
        scale = 3 * torch.tanh(scale / 3)
        return torch.cat([kept, (moved - shift) * (-scale).exp()], 1)


class Flow(nn.Module):
    """log p(theta | x) for theta in a box, which a logit maps to all of space."""

    def __init__(self, bound: float, theta: Tensor, x: Tensor, layers: int = 8, hidden: int = 96) -> None:
        super().__init__()
        self.bound, self.width = bound, theta.shape[1]
        self.centre, self.spread = x.mean(0), x.std(0)
        self.layers = nn.ModuleList(Coupling(self.width, x.shape[1], hidden) for _ in range(layers))

    def scaled(self, x: Tensor) -> Tensor:
        return (x - self.centre) / self.spread

    def log_prob(self, theta: Tensor, x: Tensor) -> Tensor:
        x = self.scaled(x)
        u = (theta / self.bound).clamp(-1 + 1e-6, 1 - 1e-6)
        z = torch.atanh(u)
        log = -torch.log1p(-(u**2)).sum(1)
        for layer in self.layers:
            z, more = layer(z, x)
            log = log + more
        return log - 0.5 * (z**2).sum(1)  # up to a constant

    @torch.no_grad()
    def sample(self, count: int, x: Tensor) -> Tensor:
        z, x = torch.randn(count, self.width), self.scaled(x).expand(count, -1)
        for layer in reversed(self.layers):
            assert isinstance(layer, Coupling)
            z = layer.inverse(z, x)
        return self.bound * torch.tanh(z)


def train(task: ws.sbi.Task, simulations: int, epochs: int, batch: int = 512) -> Flow:
    theta = task.prior.sample((simulations,))
    x = task.simulator(theta)
    flow = Flow(float(task.prior.support.base_constraint.upper_bound[0]), theta, x)
    optimizer = torch.optim.Adam(flow.parameters(), lr=1e-3)
    steps = epochs * math.ceil(simulations / batch)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    for epoch in range(epochs):
        for rows in torch.split(torch.randperm(simulations), batch):
            loss = -flow.log_prob(theta[rows], x[rows]).mean()
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(flow.parameters(), 5)
            optimizer.step()
            schedule.step()
        print(f"epoch {epoch + 1}: loss {loss.item():.3f}", flush=True)
    return flow


def posterior_samples(task: ws.sbi.Task, x: Tensor, count: int, steps: int) -> Tensor:
    """Samples of the posterior: many Metropolis chains, started at prior draws weighted by their likelihood.

    The likelihoods of both tasks do not change under some reflections, which make the posterior multimodal. A random
    reflection after the last step moves each chain between these modes exactly.
    """
    start = task.prior.sample((400_000,))
    weight = torch.softmax(task.log_likelihood(start, x).double(), 0)
    theta: Tensor = start[torch.multinomial(weight, count, replacement=True)]
    log = task.log_likelihood(theta, x)
    for _ in range(steps):
        # Steps along the difference of two other chains (C. ter Braak, Stat. Comput. 16 (2006) 239), of random length.
        first, second = theta[torch.randperm(count)], theta[torch.randperm(count)]
        length = 2.38 / math.sqrt(2 * theta.shape[1]) * torch.rand(count, 1)
        new = theta + length * (first - second) + 1e-4 * torch.randn_like(theta)
        inside = task.prior.support.check(new)
        new_log = torch.where(inside, task.log_likelihood(new, x), -math.inf)
        accepted = torch.rand(count).log() < new_log - log
        theta, log = torch.where(accepted[:, None], new, theta), torch.where(accepted, new_log, log)
    flip = torch.rand(count, 2) < 0.5
    if task.name == "two_moons":  # (t1, t2) -> (-t2, -t1) keeps |t1 + t2| and t2 - t1
        return torch.where(flip[:, :1], -theta.flip(1), theta)
    theta[:, 2:4] = torch.where(flip, -theta[:, 2:4], theta[:, 2:4])  # slcp squares t3 and t4
    return theta


def c2st(first: Tensor, second: Tensor, steps: int, folds: int = 5) -> float:
    """Mean accuracy on held-out folds of a classifier with two hidden layers of 10 units per dimension (sbibm)."""
    data = torch.cat([first, second])
    data = (data - first.mean(0)) / first.std(0)
    label = torch.cat([torch.zeros(len(first)), torch.ones(len(second))])
    correct = 0
    for held_out in torch.randperm(len(data)).chunk(folds):
        used = torch.ones(len(data), dtype=torch.bool)
        used[held_out] = False
        units = 10 * data.shape[1]
        net = nn.Sequential(nn.Linear(data.shape[1], units), nn.ReLU(), nn.Linear(units, units), nn.ReLU(), nn.Linear(units, 1))
        optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
        known, known_label = data[used], label[used]
        for _ in range(steps):
            rows = torch.randint(len(known), (512,))
            loss = nn.functional.binary_cross_entropy_with_logits(net(known[rows])[:, 0], known_label[rows])
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        correct += int(((net(data[held_out])[:, 0] > 0) == (label[held_out] > 0.5)).sum())
    return correct / len(data)


def main() -> None:
    parser = argparse.ArgumentParser(description="Neural posterior estimation of a benchmark task, and its C2ST.")
    parser.add_argument("--task", choices=["two_moons", "slcp"], default="two_moons")
    parser.add_argument("--simulations", type=int, default=100_000)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--observations", type=int, nargs="+", choices=range(1, 11), default=[1], metavar="1-10")
    parser.add_argument("--samples", type=int, default=5000, help="posterior samples to compare")
    parser.add_argument("--chain", type=int, default=500, help="steps of the reference chains")
    parser.add_argument("--classifier", type=int, default=1000, help="training steps of each classifier of C2ST")
    options = parser.parse_args()

    torch.manual_seed(0)
    task = ws.sbi.task(options.task)
    flow = train(task, options.simulations, options.epochs)
    published = PUBLISHED.get((options.task, options.simulations))
    scores = []
    for number in options.observations:
        x = torch.from_numpy(task.observations[number - 1])
        reference = posterior_samples(task, x, options.samples, options.chain)
        ours, prior = (c2st(reference, samples, options.classifier)
                       for samples in (flow.sample(options.samples, x), task.prior.sample((options.samples,))))
        scores.append(ours)
        print(f"observation {number}: C2ST {ours:.3f}, of the prior {prior:.3f}"
              + (f", published {published[number - 1]:.3f}" if published else ""), flush=True)
    print(f"mean {sum(scores) / len(scores):.3f}"
          + (f", published for the ten observations {sum(published) / 10:.3f}" if published else ""))


if __name__ == "__main__":
    main()
