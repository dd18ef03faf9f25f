"""The reference training step in PyTorch, to compare with `wellspring bench train`.

The network has three 3x3 convolutions (3-32-64-128 channels, same padding, ReLU, 2x2 max pooling after
each) on 32x32 images, the mean over the remaining pixels, and a dense layer to 10 classes. With --network resnet18, it
is resnet18 (He et al. 2016) with a first convolution for small images; resnet50 of torchvision, and deit_tiny and
convnext_tiny of timm, take images of 224x224. Cross-entropy, SGD with momentum; batch 128,
channels_last. The input is resident and random: only the step is timed, not data loading. With --generate, it is also
measured with the images of the generator shapes (shapes.py), drawn on the device in each step; a compiled step also
compiles the drawing. A CPU computes in f32; a GPU in bf16 (autocast, weights and drawing in f32), eager and compiled,
each also as a CUDA graph of the whole step.

    python bench/peers/torch_step.py [--network cnn] [--device cpu] [--threads 1,2,4] [--compile] [--generate]
                                     [--seconds 10]

Prints one JSON object: median, quartiles and minimum of the step time for each way to run it, and the best way by
median, for resident and generated images. Exit code 4 if the device cannot be used.
"""

import argparse
import json
import os
import statistics
import sys
import time

import shapes
import torch
from torch import nn


def cnn() -> nn.Module:
    def stage(inputs: int, outputs: int) -> list:
        return [nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]

    return nn.Sequential(
        *stage(3, 32),
        *stage(32, 64),
        *stage(64, 128),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(128, 10),
    )


class Residual(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(),
            nn.Conv2d(outputs, outputs, 3, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
        )
        self.skip = nn.Sequential()
        if stride != 1 or inputs != outputs:
            self.skip = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        return torch.relu(self.body(x) + self.skip(x))


def resnet18() -> nn.Module:
    layers = [nn.Conv2d(3, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64), nn.ReLU()]
    widths = [64, 64, 128, 256, 512]
    for inputs, outputs in zip(widths, widths[1:]):
        layers += [Residual(inputs, outputs, 1 if inputs == outputs else 2), Residual(outputs, outputs, 1)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


def resnet50() -> nn.Module:
    import torchvision

    return torchvision.models.resnet50(num_classes=10)


def of_timm(name: str, **settings):
    def make() -> nn.Module:
        import timm

        return timm.create_model(name, num_classes=10, **settings)

    return make


# Network, description, image side.
NETWORKS = {
    "cnn": (cnn, "cnn 3-32-64-128", 32),
    "resnet18": (resnet18, "resnet18, cifar stem", 32),
    "resnet50": (resnet50, "resnet50", 224),
    "deit_tiny": (of_timm("deit_tiny_patch16_224"), "deit_tiny", 224),
    "convnext_tiny": (of_timm("convnext_tiny"), "convnext_tiny", 224),
    "vit_tiny": (of_timm("vit_tiny_patch16_224", img_size=32, patch_size=4), "vit_tiny, patches of 4 pixels", 32),
}
NO_DEVICE = 4
STEPS_ON_A_GPU = 20  # per measurement; the host waits only after the last one


def drawing(batch: int, side: int, device: str):
    """A function that draws images of shapes and their labels on the device."""
    at = (torch.arange(side, device=device) + 0.5) / side

    def uniform(columns, low, high):
        return low + (high - low) * torch.rand(batch, columns, device=device)

    def draw():
        labels = torch.randint(0, shapes.CLASSES, (batch,), device=device)
        scale, place, angle, front, back = shapes.parameters(uniform)
        distance = shapes.distance(torch, labels, *shapes.local(torch, at, scale, place, angle))
        return shapes.paint(torch, distance, scale, front, back).permute(0, 3, 1, 2), labels

    return draw


def make_step(network: str, batch: int, device: str, compiled: bool, side: int, bf16: bool, generate: bool = False):
    torch.manual_seed(1)
    make = NETWORKS[network][0]
    model = make().to(device, memory_format=torch.channels_last)
    resident = (
        torch.randn(batch, 3, side, side).to(device, memory_format=torch.channels_last),
        torch.randint(0, 10, (batch,)).to(device),
    )
    draw = drawing(batch, side, device) if generate else lambda: resident
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, foreach=True)
    criterion = nn.CrossEntropyLoss()

    # Without autocast's cache of cast weights: a graph would keep the weights of the captured step.
    def forward_and_loss():
        images, labels = draw()
        with torch.autocast(device, torch.bfloat16, enabled=bf16, cache_enabled=False):
            return criterion(model(images), labels)

    loss_function = torch.compile(forward_and_loss) if compiled else forward_and_loss

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss_function().backward()
        optimizer.step()

    return step


def as_graph(step):
    """The whole step as a CUDA graph: warmed up on its own stream, as PyTorch requires."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(5):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def measure(step, seconds: float, warm_up: int, clock, device: str) -> dict:
    for _ in range(warm_up):
        step()
    steps = STEPS_ON_A_GPU if device == "cuda" else 1
    times = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 10:
        if device == "cuda":
            torch.cuda.synchronize()
        begin = clock()
        for _ in range(steps):
            step()
        if device == "cuda":
            torch.cuda.synchronize()
        times.append(1e3 * (clock() - begin) / steps)
    quartiles = statistics.quantiles(times, n=4)
    return {
        "steps": len(times) * steps,
        "median_ms": round(statistics.median(times), 3),
        "quartiles_ms": [round(quartiles[0], 3), round(quartiles[2], 3)],
        "fastest_ms": round(min(times), 3),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    usable = len(os.sched_getaffinity(0))
    parser.add_argument("--network", choices=NETWORKS, default="cnn")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--threads", default=",".join(str(n) for n in sorted({1, usable, 2 * usable})))
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--seconds", type=float, default=10.0, help="duration of each measurement")
    parser.add_argument("--warm-up", type=int, default=20, help="steps before each measurement")
    parser.add_argument("--compile", action="store_true", help="also measure torch.compile (always on a GPU)")
    parser.add_argument("--generate", action="store_true", help="also measure drawing the images in the step")
    parser.add_argument(
        "--cpu-clock",
        action="store_true",
        help="process CPU time instead of wall time: for one thread on a busy machine",
    )
    arguments = parser.parse_args()
    clock = time.process_time if arguments.cpu_clock else time.perf_counter
    on_gpu = arguments.device == "cuda"
    if on_gpu and not torch.cuda.is_available():
        print(f"PyTorch {torch.__version__} cannot use a GPU here", file=sys.stderr)
        return NO_DEVICE

    _, description, side = NETWORKS[arguments.network]
    kinds = ("resident", "generating") if arguments.generate else ("resident",)
    ways = [
        {"images": images, "threads": threads, "compile": compiled, "graph": graph}
        for images in kinds
        for compiled in ([False, True] if arguments.compile or on_gpu else [False])
        for graph in ([False, True] if on_gpu else [False])
        for threads in ([usable] if on_gpu else [int(n) for n in arguments.threads.split(",")])
    ]
    runs = []
    for way in ways:
        torch.set_num_threads(way["threads"])
        try:
            if way["compile"]:
                torch.compiler.reset()  # all steps share one function, and a function is compiled only a few times
            step = make_step(arguments.network, arguments.batch, arguments.device, way["compile"], side, on_gpu,
                             way["images"] == "generating")  # fmt: skip
            if way["graph"]:
                step = as_graph(step)
            result = measure(step, arguments.seconds, arguments.warm_up, clock, arguments.device)
        except Exception as error:  # torch.compile needs a C++ compiler and more
            print(f"{way}: {error}", file=sys.stderr)
            continue
        runs.append({**way, **result})
    best = {}
    for images in kinds:
        seen = [run for run in runs if run["images"] == images]
        if not seen:
            print(f"no way to run the step with {images} images works here", file=sys.stderr)
            if images == "resident":
                return 1
            continue
        fastest = min(seen, key=lambda run: run["median_ms"])
        best[images] = {**fastest, "images_per_second": round(1e3 * arguments.batch / fastest["median_ms"], 1)}
    print(
        json.dumps(
            {
                "peer": "PyTorch",
                "version": torch.__version__,
                "work": f"{description}, {side}x{side}x3 input, training step, "
                f"{'bf16' if on_gpu else 'f32'}, channels_last"
                + (", resident or drawn in the step" if arguments.generate else ""),
                "device": torch.cuda.get_device_name() if on_gpu else "cpu",
                "batch": arguments.batch,
                "clock": "process CPU time" if arguments.cpu_clock else "wall",
                "runs": runs,
                **best,
            },
            indent=2,
        )
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
