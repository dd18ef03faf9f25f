"""Loads one set of images with PyTorch's DataLoader and with `wellspring loadtest`, alternately, from the same files.

The images are drawn by `wellspring export dead_leaves` and stored as JPEG files (quality 90) in folders, as WebDataset
shards of these files, as one .npy array and as one HDF5 array with a chunk per image (8 bits, not compressed). Each
loader reads them in random order (shards: in random order within a buffer of 1,000) and makes batches of f32 pixels.
PyTorch tries 0 workers, one per processor, and two per processor. If NVIDIA DALI is installed (requirements-dali.txt), its
CPU pipeline reads the JPEG folder, too, with a thread per processor.

    python bench/peers/load.py WELLSPRING [--images 2000] [--side 224] [--batch 64] [--seconds 5] [--turns 3]

Prints one JSON object: images/s of both for each format, medians and extremes of the turns. The files are in the page
cache. Needs torch, torchvision, h5py, webdataset and Pillow.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

import h5py
import numpy
import torch
import torchvision
import webdataset
from PIL import Image
from rates import ratio, reason, summary
from torchvision.transforms import functional

try:
    from nvidia import dali
except (ImportError, OSError) as error:  # OSError: a library that it needs
    dali, no_dali = None, str(error)


def write(program, folder, images, side):
    """The data set in four formats."""
    subprocess.run([program, "export", "dead_leaves", "--count", str(images), "--size", str(side), "--pixels", "u8",
                    "--out", folder / "set.npz"], check=True, stdout=subprocess.DEVNULL)  # fmt: skip
    with numpy.load(folder / "set.npz") as arrays:
        x, y = arrays["x"], arrays["label"].astype(numpy.int64)
    (folder / "set.npz").unlink()
    numpy.save(folder / "set.npy", x)
    numpy.save(folder / "set_labels.npy", y)
    with h5py.File(folder / "set.h5", "w") as file:
        file.create_dataset("x", data=x, chunks=(1, *x.shape[1:]))
        file["label"] = y
    with webdataset.ShardWriter(str(folder / "set-%04d.tar"), maxcount=500, verbose=0) as shards:
        for row, (pixels, label) in enumerate(zip(x, y)):
            path = folder / "folder" / f"class{label:04}" / f"{row:06}.jpg"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(pixels).save(path, quality=90)
            shards.write({"__key__": f"{row:06}", "jpg": path.read_bytes(), "cls": int(label)})


class Rows(torch.utils.data.Dataset):
    """Rows of an array, which each worker opens for itself."""

    def __init__(self, open_array, labels):
        self.open_array, self.labels, self.array = open_array, labels, None

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, row):
        if self.array is None:
            self.array = self.open_array()
        return functional.to_tensor(numpy.asarray(self.array[row])), self.labels[row]


def torch_sets(folder):
    """For each format: the data set, and the options of its DataLoader."""
    labels = numpy.load(folder / "set_labels.npy")
    shards = sorted(str(path) for path in folder.glob("set-*.tar"))
    in_order = {"shuffle": True}
    return {
        "JPEG folder": (torchvision.datasets.ImageFolder(folder / "folder", functional.to_tensor), in_order),
        "WebDataset": (webdataset.WebDataset(shards, shardshuffle=len(shards), empty_check=False).shuffle(1000)
                       .decode("torchrgb").to_tuple("jpg", "cls"), {}),
        "npy": (Rows(lambda: numpy.load(folder / "set.npy", mmap_mode="r"), labels), in_order),
        "HDF5": (Rows(lambda: h5py.File(folder / "set.h5")["x"], labels), in_order),
    }  # fmt: skip


# The same data sets as sources of a configuration.
SOURCES = {
    "JPEG folder": "path: folder",
    "WebDataset": "path: 'set-{NUMBERS}.tar', format: webdataset",
    "npy": "path: set.npy, labels: set_labels.npy",
    "HDF5": "path: set.h5, array: x, labels: label",
}


def torch_rate(dataset, options, batch, workers, seconds):
    """Images/s after the first two batches; epochs follow each other."""
    loader = torch.utils.data.DataLoader(dataset, batch, num_workers=workers, drop_last=True,
                                         persistent_workers=workers > 0, **options)  # fmt: skip
    seen, begin = -2, time.perf_counter()
    while True:
        for _ in loader:
            seen += 1
            if seen == 0:
                begin = time.perf_counter()
            elif seen > 0 and time.perf_counter() > begin + seconds:
                return batch * seen / (time.perf_counter() - begin)


def dali_rate(folder, batch, seconds):
    """Images/s of DALI's CPU pipeline, which also needs no GPU, after the first two batches."""

    @dali.pipeline_def(batch_size=batch, num_threads=len(os.sched_getaffinity(0)), device_id=None)
    def pipeline():
        files, labels = dali.fn.readers.file(file_root=str(folder / "folder"), random_shuffle=True)
        images = dali.fn.decoders.image(files, device="cpu")
        return dali.fn.cast(images, dtype=dali.types.FLOAT) / 255.0, labels

    running = pipeline()
    running.build()
    for _ in range(2):
        running.run()
    seen, begin = 0, time.perf_counter()
    while time.perf_counter() < begin + seconds:
        running.run()
        seen += 1
    return batch * seen / (time.perf_counter() - begin)


def our_rate(program, config, seconds):
    output = subprocess.run([program, "loadtest", config, "--seconds", str(seconds), "--json"], check=True,
                            stdout=subprocess.PIPE, text=True, cwd=config.parent).stdout  # fmt: skip
    return json.loads(output)[0]["samples_per_second"]


def compare(arguments, folder):
    sets = torch_sets(folder)
    processors = len(os.sched_getaffinity(0))
    workers = sorted({0, processors, 2 * processors})
    numbers = f"0000..{len(list(folder.glob('set-*.tar'))) - 1:04}"
    rows = []
    for name, (dataset, options) in sets.items():
        config = folder / f"{name.replace(' ', '_')}.yaml"
        config.write_text(f"""name: load
data:
  size: {arguments.side}
  sources:
    - {{name: set, kind: files, storage: streamed, {SOURCES[name].replace("NUMBERS", numbers)}}}
model: {{name: cnn}}
train: {{batch: {arguments.batch}, steps: 1000000}}
""")
        ours, theirs, dalis, dali_failed = [], {count: [] for count in workers}, [], ""
        for _ in range(arguments.turns):
            ours.append(our_rate(arguments.wellspring, config, arguments.seconds))
            for count in workers:
                theirs[count].append(torch_rate(dataset, options, arguments.batch, count, arguments.seconds))
            if dali and name == "JPEG folder" and not dali_failed:
                try:
                    dalis.append(dali_rate(folder, arguments.batch, arguments.seconds))
                except Exception as error:  # one of many rows: the others go on
                    dali_failed = reason(error)
        best = max(workers, key=lambda count: statistics.median(theirs[count]))
        rows.append({
            "format": name, "wellspring": summary(ours), "pytorch": {"workers": best, **summary(theirs[best])},
            "ratio": ratio(ours, theirs[best]),
        })  # fmt: skip
        if dali_failed:
            rows[-1]["dali_failed"] = dali_failed
        elif dalis:
            rows[-1]["dali"] = {"version": dali.__version__, **summary(dalis)}
            rows[-1]["dali"]["ratio"] = ratio(ours, dalis)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("wellspring", type=pathlib.Path, help="the program")
    parser.add_argument("--images", type=int, default=2000)
    parser.add_argument("--side", type=int, default=224)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--seconds", type=int, default=5, help="duration of each turn")
    parser.add_argument("--turns", type=int, default=3)
    arguments = parser.parse_args()
    arguments.wellspring = arguments.wellspring.resolve()
    torch.set_num_threads(1)  # in the process that collects batches
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write(arguments.wellspring, folder, arguments.images, arguments.side)
        rows = compare(arguments, folder)
    print(json.dumps({
        "work": f"{arguments.images} images {arguments.side}x{arguments.side}x3, batches of {arguments.batch}, f32",
        "processors": len(os.sched_getaffinity(0)),
        "versions": {"torch": torch.__version__, "h5py": h5py.__version__, "webdataset": webdataset.__version__},
        **({} if dali else {"no_dali": no_dali}),
        "rows": rows,
    }, indent=2))  # fmt: skip


if __name__ == "__main__":
    main()
