"""What the reductions share whose epochs add less and less: how little at last, and which iterates they show."""

from typing import Literal

HALVINGS = 50  # of the strength of the first epoch, after which what it adds is below rounding
Output = Literal["running", "epoch"]
