"""Converts Parquet, Arrow, Hugging Face data sets and ROOT trees to files that Wellspring reads.

    python -m wellspring.convert photos.parquet shards/                    images -> tar shards of WebDataset
    python -m wellspring.convert hf:ylecun/mnist shards/ --split train     a Hugging Face data set (or a saved folder)
    python -m wellspring.convert table.parquet table.npz --label kind      numbers -> x [rows, features], label [rows]
    python -m wellspring.convert jets.root:tree jets.npz --features pt,eta,phi --label is_top

SOURCE is a .parquet, .arrow or .feather file, a folder of .parquet files, hf:NAME[:CONFIG], a folder written by
save_to_disk, or FILE.root:TREE. OUT is NAME.npz, or a folder of shards for images.

NAME.npz: x (f32) has the numbers of --features (default: all columns of numbers but the label and targets). If features
are lists, a row is a set: x is [all items, features], with offsets. label holds whole numbers; texts become numbers in
sorted order, and NAME.classes.txt lists them. target holds --targets. Rows are converted piece by piece.

Shards: each sample has its image file unchanged, as .jpg, .png or .webp, and its label as .cls. classes.txt lists the
names of the classes if the source has them (in the configuration: classes: classes.txt).

Needs pyarrow (Parquet, Arrow), datasets (Hugging Face) or uproot (ROOT). Exit codes: 0 done, 1 a package is missing or
writing failed, 2 wrong usage, 3 bad data.
"""

import argparse
import importlib
import io
import json
import os
import pathlib
import sys
import tarfile
import tempfile
import zipfile

RUNTIME, USAGE, DATA = 1, 2, 3
BATCH = 4096  # rows per piece
COPY = 1 << 22  # bytes
IMAGES = {b"\xff\xd8\xff": "jpg", b"\x89PNG": "png", b"RIFF": "webp"}


class Failure(Exception):
    """A message for the user: problem (reason); advice."""

    def __init__(self, code, problem, why="", advice=""):
        super().__init__(problem + (f" ({why})" if why else "") + (f"; {advice}" if advice else ""))
        self.code = code


def need(package, use):
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise Failure(RUNTIME, f"{use} needs {package}", str(error), f"pip install {package}") from None


class Source:
    """Rows as pieces: `names`, and `pieces()` of {name: column} with NumPy arrays (ragged ones: a pair of counts and
    values) or lists. `classes`: names of the classes by column."""

    def __init__(self, names, pieces, classes=None):
        self.names, self.pieces, self.classes = names, pieces, classes or {}

    def expect(self, name):
        if name not in self.names:
            raise Failure(USAGE, f"no column '{name}'", f"the source has {', '.join(self.names)}")


def column_of(array, name):
    """An Arrow array as NumPy array [rows] or [rows, n], as (counts, values), or as a list."""
    import pyarrow as pa

    kind = array.type
    if array.null_count:
        raise Failure(DATA, f"column '{name}' has missing values", f"{array.null_count} of {len(array)} rows of a piece")
    if pa.types.is_fixed_size_list(kind):
        return array.flatten().to_numpy(zero_copy_only=False).reshape(len(array), kind.list_size)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        values = array.flatten()
        if values.null_count:
            raise Failure(DATA, f"column '{name}' has missing values", "in its lists")
        return array.value_lengths().to_numpy(), values.to_numpy(zero_copy_only=False)
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind):
        return array.to_numpy(zero_copy_only=False)
    return array.to_pylist()


def arrow_pieces(batches, wanted):
    for batch in batches:
        yield {name: column_of(batch.column(batch.schema.get_field_index(name)), name) for name in wanted}


def label_names(features):
    """Names of the classes in the description of Hugging Face features."""
    return {name: list(about["names"]) for name, about in features.items()
            if isinstance(about, dict) and about.get("_type") == "ClassLabel" and about.get("names")}


def open_arrow(path):
    need("pyarrow", "reading Parquet and Arrow files")
    import pyarrow.dataset

    kind = "parquet" if path.is_dir() or path.suffix == ".parquet" else "feather" if path.suffix == ".feather" else "ipc"
    files = sorted(path.glob("**/*.parquet")) if path.is_dir() else [path]
    if not files:
        raise Failure(DATA, f"{path}: no .parquet files")
    try:
        data = pyarrow.dataset.dataset([str(file) for file in files], format=kind)
        schema = data.schema
        about = json.loads((schema.metadata or {}).get(b"huggingface", b"{}"))
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise Failure(DATA, f"{path}: cannot be read", str(error).splitlines()[0]) from None
    return Source(schema.names, lambda wanted: arrow_pieces(
        data.to_batches(columns=wanted, batch_size=BATCH), wanted), label_names(about.get("info", {}).get("features", {})))


def open_hugging_face(source, split):
    datasets = need("datasets", "reading a Hugging Face data set")
    try:
        if source.startswith("hf:"):
            data = datasets.load_dataset(*source[3:].split(":", 1), split=split)
        else:
            data = datasets.load_from_disk(source)
    except (OSError, ValueError, ConnectionError) as error:
        raise Failure(DATA, f"{source}: cannot be opened", str(error).splitlines()[0]) from None
    if isinstance(data, dict):
        if split not in data:
            raise Failure(USAGE, f"{source} has several splits", ", ".join(data), "choose one with --split")
        data = data[split]
    features = data.features
    for name, feature in features.items():
        if type(feature).__name__ == "Image":
            data = data.cast_column(name, datasets.Image(decode=False))
    arrow = data.with_format("arrow")

    def pieces(wanted):
        for table in arrow.select_columns(wanted).iter(BATCH):
            yield from arrow_pieces(table.combine_chunks().to_batches(), wanted)
    return Source(list(features), pieces, label_names(features.to_dict()))


def open_root(path, tree):
    import numpy as np

    uproot = need("uproot", "reading a ROOT file")
    try:
        file = uproot.open(path)
        trees = [name.split(";")[0] for name, kind in file.classnames().items() if kind in ("TTree", "ROOT::RNTuple")]
        if not tree and len(set(trees)) == 1:
            tree = trees[0]
        if tree not in trees:
            raise Failure(USAGE, f"{path}: no tree '{tree}'", "it has " + (", ".join(sorted(set(trees))) or "none"),
                          "write FILE.root:TREE")
        branches = file[tree]
    except (OSError, ValueError, uproot.exceptions.KeyInFileError) as error:
        raise Failure(DATA, f"{path}: cannot be read", str(error).splitlines()[0]) from None

    def column(array):
        if array.dtype != object:
            return array
        values = [np.asarray(value) for value in array]
        return np.array([len(value) for value in values]), np.concatenate(values) if values else np.empty(0)

    def pieces(wanted):
        for piece in branches.iterate(filter_name=wanted, step_size=BATCH, library="np"):
            missing = [name for name in wanted if name not in piece]
            if missing:
                raise Failure(DATA, f"{path}: branch '{missing[0]}' holds no numbers")
            yield {name: column(piece[name]) for name in wanted}
    return Source(branches.keys(), pieces)


def open_source(source, split):
    file, _, tree = source.partition(".root:")
    if source.endswith(".root") or tree:
        return open_root(file if file.endswith(".root") else file + ".root", tree)
    path = pathlib.Path(source)
    if source.startswith("hf:") or any((path / name).exists() for name in ("state.json", "dataset_dict.json")):
        return open_hugging_face(source, split)
    if not path.exists():
        raise Failure(DATA, f"{source}: no such file or folder")
    if path.is_dir() or path.suffix in (".parquet", ".arrow", ".feather"):
        return open_arrow(path)
    raise Failure(USAGE, f"{source}: unknown format", "", "name a .parquet, .arrow, .feather or .root file")


def numbers(column, name, size):
    """A column [rows] or [rows, n] of numbers, as f32."""
    import numpy as np

    if isinstance(column, (list, tuple)) or column.dtype.kind not in "biuf":
        raise Failure(DATA, f"column '{name}' does not hold a number in each row")
    if column.shape[0] != size:
        raise Failure(DATA, f"column '{name}' has {column.shape[0]} rows instead of {size}")
    return column.reshape(size, -1).astype(np.float32)


def rows_of(column):
    return len(column[0]) if isinstance(column, tuple) else len(column)


class Columns:
    """The arrays of a .npz: x goes to a temporary file, the small ones are kept."""

    def __init__(self, spool):
        self.spool, self.width, self.items = spool, None, 0
        self.counts, self.labels, self.targets = [], [], []

    def add(self, piece, options):
        import numpy as np

        size = rows_of(next(iter(piece.values())))
        features = [piece[name] for name in options.features]
        if any(isinstance(column, tuple) for column in features):
            for name, column in zip(options.features, features):
                if not isinstance(column, tuple) or not np.array_equal(column[0], features[0][0]):
                    raise Failure(DATA, f"'{name}' and '{options.features[0]}' have lists of different lengths",
                                  "the features of a set have a value for each item", "choose columns with --features")
            self.counts.append(features[0][0])
            x = np.concatenate([numbers(column[1], name, len(features[0][1]))
                                for name, column in zip(options.features, features)], axis=1)
        else:
            x = np.concatenate([numbers(column, name, size) for name, column in zip(options.features, features)], axis=1)
        if self.width not in (None, x.shape[1]):
            raise Failure(DATA, f"rows have {x.shape[1]} features instead of {self.width}")
        self.width, self.items = x.shape[1], self.items + len(x)
        self.spool.write(x.tobytes())
        if options.label:
            self.labels.append(label_of(piece[options.label], options.label))
        if options.targets:
            self.targets.append(np.concatenate([numbers(piece[name], name, size) for name in options.targets], axis=1))

    def save(self, path, classes):
        import numpy as np

        arrays = {}
        if self.counts:
            arrays["offsets"] = np.concatenate([[0], np.cumsum(np.concatenate(self.counts))]).astype(np.int64)
        if self.labels:
            label = np.concatenate(self.labels)
            if label.dtype.kind == "U":
                classes, label = np.unique(label, return_inverse=True)
            arrays["label"] = label.astype(np.int64)
        if self.targets:
            arrays["target"] = np.concatenate(self.targets)
        with zipfile.ZipFile(path, "w") as archive:
            with archive.open("x.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array_header_1_0(
                    member, {"descr": "<f4", "fortran_order": False, "shape": (self.items, self.width)})
                self.spool.seek(0)
                while part := self.spool.read(COPY):
                    member.write(part)
            for name, array in arrays.items():
                with archive.open(name + ".npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, array)
        return [str(name) for name in classes] if classes is not None else []


def label_of(column, name):
    import numpy as np

    array = np.asarray(column) if not isinstance(column, tuple) else np.empty((0, 0))
    if array.ndim != 1 or array.dtype.kind not in "biuU":
        raise Failure(DATA, f"column '{name}' is not a label", "it holds neither whole numbers nor texts")
    return array


def write_npz(source, out, options):
    if not options.features:
        first = next(source.pieces(source.names), {})
        options.features = [name for name, column in first.items()
                            if name != options.label and name not in options.targets and not isinstance(column, list)]
    if not options.features:
        raise Failure(DATA, "no columns of numbers", "images go to shards", "give a folder as OUT")
    wanted = list(dict.fromkeys([*options.features, *([options.label] if options.label else []), *options.targets]))
    for name in wanted:
        source.expect(name)
    part = out.with_name(out.name + ".part")
    with tempfile.TemporaryFile(dir=out.parent) as spool:
        columns = Columns(spool)
        for piece in source.pieces(wanted):
            columns.add(piece, options)
        if columns.width is None:
            raise Failure(DATA, "the source has no rows")
        try:
            classes = columns.save(part, source.classes.get(options.label))
            os.replace(part, out)
        finally:
            part.unlink(missing_ok=True)
    if classes:
        names = out.with_suffix(".classes.txt")
        names.write_text("\n".join(classes) + "\n")
    print(f"{out}: x [{columns.items}, {columns.width}] of {', '.join(options.features)}"
          + (", offsets" if columns.counts else "") + (f", label {options.label}" if options.label else "")
          + (f", target {', '.join(options.targets)} (set latents: [target])" if options.targets else "")
          + (f"; set class_names: {names.name}" if classes else ""))


def image_bytes(value, row):
    if isinstance(value, dict):
        value = value.get("bytes") or (pathlib.Path(value["path"]).read_bytes() if value.get("path") else None)
    kind = next((IMAGES[magic] for magic in IMAGES if isinstance(value, bytes) and value.startswith(magic)), None)
    if kind is None:
        raise Failure(DATA, f"row {row}: no JPEG, PNG or WebP image", "", "choose the column with --image")
    return value, kind


class Shards:
    """Tar files of at most `most` samples; each gets its name when it is complete."""

    def __init__(self, folder, most):
        self.folder, self.most, self.samples, self.shards = folder, most, 0, 0
        self.archive = None

    def add(self, image, kind, label):
        if self.archive is None:
            self.part = self.folder / ".shard.part"
            self.archive = tarfile.open(self.part, "w", format=tarfile.USTAR_FORMAT)
        for extension, content in ((kind, image), ("cls", label)):
            if content is not None:
                member = tarfile.TarInfo(f"{self.samples:09}.{extension}")
                member.size = len(content)
                self.archive.addfile(member, io.BytesIO(content))
        self.samples += 1
        if self.samples % self.most == 0:
            self.close()

    def close(self):
        if self.archive is not None:
            self.archive.close()
            os.replace(self.part, self.folder / f"shard-{self.shards:06}.tar")
            self.archive, self.shards = None, self.shards + 1


def write_shards(source, out, options):
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise Failure(USAGE, f"{out} exists and is not an empty folder", "", "choose another OUT, or move it away")
    image = options.image or ("image" if "image" in source.names else "img" if "img" in source.names else "")
    if not image:
        raise Failure(USAGE, "no column 'image'", f"the source has {', '.join(source.names)}", "name it with --image")
    source.expect(image)
    label = options.label or ("label" if "label" in source.names else "")
    if label:
        source.expect(label)
    out.mkdir(parents=True, exist_ok=True)
    shards = Shards(out, options.shard_samples)
    for piece in source.pieces([image, label] if label else [image]):
        labels = label_of(piece[label], label).tolist() if label else []
        for i, value in enumerate(piece[image]):
            content, kind = image_bytes(value, shards.samples)
            shards.add(content, kind, str(int(labels[i]) if not isinstance(labels[i], str) else labels[i]).encode()
                       if label else None)
    shards.close()
    classes = source.classes.get(label)
    if classes:
        (out / "classes.txt").write_text("\n".join(classes) + "\n")
    if not shards.samples:
        raise Failure(DATA, "the source has no rows")
    print(f"{out}: {shards.samples} images in {shards.shards} shards"
          + (f", label {label}" if label else ", no labels") + ("; set classes: classes.txt" if classes else ""))


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m wellspring.convert", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", metavar="SOURCE")
    parser.add_argument("out", metavar="OUT", type=pathlib.Path)
    names = lambda text: [name for name in text.split(",") if name]  # noqa: E731
    parser.add_argument("--features", type=names, default=[], help="columns of x: a,b,c")
    parser.add_argument("--label", default="", help="column of the label (shards: default label)")
    parser.add_argument("--targets", type=names, default=[], help="columns of regression targets: a,b")
    parser.add_argument("--image", default="", help="column of images (default: image or img)")
    parser.add_argument("--split", default="train", help="split of a Hugging Face data set (default: train)")
    parser.add_argument("--shard-samples", type=int, default=10000, help="samples per shard (default: 10000)")
    options = parser.parse_args(arguments)
    try:
        if options.shard_samples < 1:
            raise Failure(USAGE, "--shard-samples must be at least 1")
        if options.out.suffix not in ("", ".npz") and not options.out.is_dir():
            raise Failure(USAGE, f"{options.out}: unknown format", "", "name a .npz file, or a folder for shards")
        source = open_source(options.source, options.split)
        (write_npz if options.out.suffix == ".npz" else write_shards)(source, options.out, options)
    except Failure as failure:
        print(f"convert: error: {failure}", file=sys.stderr)
        return failure.code
    except OSError as error:
        print(f"convert: error: {error}", file=sys.stderr)
        return RUNTIME
    return 0


if __name__ == "__main__":
    sys.exit(main())
