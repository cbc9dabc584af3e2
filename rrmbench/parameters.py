"""The types of component parameters, with their bounds."""

from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le, Lt

Positive = Annotated[float, Gt(0), Lt(float("inf"))]
NonNegative = Annotated[float, Ge(0), Lt(float("inf"))]
Fraction = Annotated[float, Ge(0), Le(1)]
PositiveInt = Annotated[int, Ge(1)]
Auto = Literal["auto"]
InputFile = Annotated[str, "the path of a file"]  # its content is part of what a run is
