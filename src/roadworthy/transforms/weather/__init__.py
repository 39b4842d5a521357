"""Weather, light and season: fog, rain, snow, clouds, night, dusk, a low sun, shadows, winter.

Each has an amount from 0 to 1, of which 1/3 is light, 2/3 is normal and 1 is heavy, and further parameters
for its parts. They keep labels true, write into the metadata what they made, and look at the label map and
the depth of a frame where it has them; where it has none they estimate, and say so in their description.
"""

# Importing them registers what is in them.
from roadworthy.transforms.weather import fog, night, precipitation, sun, winter  # noqa: F401
