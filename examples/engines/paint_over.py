"""An engine as a program: every pixel of a class gets the mean colour of another.

It stands for a real one, such as a generative model: it reads an image and a label map, writes an image, and
tells by its exit status whether that went well.
"""

from __future__ import annotations

import argparse
import sys

import cv2
import numpy as np

from roadworthy.images import read_ids, read_image, write_image
from roadworthy.ontology import ontology


def main() -> None:
    """Read, paint, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("image", "labels", "output", "element", "by"):
        parser.add_argument(f"--{name}", default="")
    asked = parser.parse_args()
    image, ids = read_image(asked.image), read_ids(asked.labels)
    old = ids == ontology().label_id(asked.element)
    new = ids == ontology().label_id(asked.by or "road")
    if not new.any():
        sys.exit(f"there is no {asked.by or 'road'} to take a colour from")
    image[old] = np.rint(image[new].mean(axis=0))
    write_image(asked.output, np.where(old[..., None], cv2.GaussianBlur(image, (5, 5), 0), image))


if __name__ == "__main__":
    main()
