"""A batch of samples."""


class Batch(dict):
    """Named columns, also as attributes: batch["x"] is batch.x.

    x        values: [rows, height, width, channels], [rows, features] or [rows, items, features]
    label    [rows] class indices
    latents  [rows, n] the parameters that each sample was drawn with
    weight   [rows]
    target   [rows, n] soft or multi-hot labels, or regression targets
    count    [rows] number of items of each set; the items after them are padding
    globals  [rows, n] features of each set as a whole
    plane    [rows, height, width] dense labels

    Columns that the samples do not have are absent. Every column implements the DLPack protocol, so
    torch.from_dlpack and numpy.from_dlpack share its memory. The arrays keep that memory alive.
    """

    __slots__ = ()

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"this batch has no column '{name}', only {', '.join(self)}") from None
