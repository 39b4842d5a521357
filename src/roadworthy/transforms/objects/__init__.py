"""Things that come, go or give way to others in a frame, with the help of its label map."""

from roadworthy.transforms.objects.compositing import Add
from roadworthy.transforms.objects.cutting import harvest
from roadworthy.transforms.objects.gallery import Gallery
from roadworthy.transforms.objects.remove import Remove
from roadworthy.transforms.objects.replace import Replace
from roadworthy.transforms.objects.request import ObjectEdit

__all__ = ["Add", "Gallery", "ObjectEdit", "Remove", "Replace", "harvest"]
