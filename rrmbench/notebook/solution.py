"""What `rrmbench.solve` returns."""

from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np

from rrmbench.bench.metrics import model_of
from rrmbench.errors import RrmbenchError
from rrmbench.keys import keys
from rrmbench.problem.operators import CSR, check_names
from rrmbench.problem.problem import Problem
from rrmbench.report import naming


@dataclass(eq=False, repr=False)
class Solution:
    """What `solve` returns: the last iterate, the best certificate, and the trace.

    w : final model; b : dual variable with the greatest dual value, or None
    gap : P(w) - D(b); status, reason : as in the results of a run
    trace : DataFrame, one row per trace point
    problem : the Problem; spec : {"solver": ..., "reduction": ..., "seed": ...} as they were asked for
    """

    w: np.ndarray
    b: np.ndarray | None
    gap: float
    status: str
    reason: str
    trace: Any
    problem: Problem
    spec: dict = field(default_factory=dict)

    @property
    def classes_(self) -> Any:
        """The distinct labels as they were given, in the order of -1, 1 or of the outputs; None of numbers."""
        return self.problem.classes

    def outputs(self, X: Any) -> np.ndarray:
        """z = X w for new rows X (m, d), dense or sparse, with a minimized bias added; (m,) or (m, k)."""
        problem = self.problem
        if hasattr(problem.loss, "operator") and np.ndim(problem.y) == 2:
            raise RrmbenchError(f"{type(problem.loss).__name__}: it predicts sequences, and no single rows")
        w = np.asarray(model_of(problem.loss, self.w, self.b))
        check_names(problem.columns, X, "X")
        rows = CSR.of(X, w.shape[1] if w.ndim == 2 else None)
        if not hasattr(problem.X, "rows") and not hasattr(problem.X, "of_loss"):
            raise RrmbenchError("the data of this problem are no rows of a matrix; problem.X.forward(w) gives outputs")
        if rows.shape[1] != w.shape[0]:
            raise RrmbenchError(f"X: found {rows.shape[1]} columns, the model has {w.shape[0]}")
        shift = problem.beta(problem.X.forward(self.w)) if problem.minimized_bias else 0.0
        return np.asarray(rows.forward(w) + shift)

    def predict(self, X: Any) -> np.ndarray:
        """The labels of new rows X (m, d): of `classes_` where there are classes, else numbers.

        Where all labels of a binary loss are -1 or all are 1, they are -1 and 1; of several targets they are (m, k).
        """
        z, classes = self.outputs(X), self.classes_
        if z.ndim == 2 and classes is None and np.ndim(self.problem.y) == 2:  # targets
            return z
        if z.ndim == 2:
            place = z.argmax(axis=1)
        elif classes is not None and len(classes) <= 2:
            place = (z >= 0.0).astype(int)
            classes = classes if len(classes) == 2 else np.array([-1.0, 1.0])
        else:
            return self.problem.loss.predict(z) if hasattr(self.problem.loss, "predict") else z
        return place if classes is None else classes[place]

    def __repr__(self) -> str:
        return f"Solution({', '.join(f'{key}: {value}' for key, value in self._facts().items())})"

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><th>{escape(k)}</th><td>{escape(v)}</td></tr>" for k, v in self._facts().items())
        return f"<table>{rows}</table>"

    def _facts(self) -> dict[str, str]:
        last = self.trace.iloc[-1]
        passes = "" if np.isnan(last["passes"]) else f"{last['passes']:g} passes, "
        return {
            "method": naming.method(keys(self.spec | {"dataset": "none"})),
            "status": f"{self.status} ({self.reason}) after {passes}{last['seconds']:.3g} s",
            "P(w)": f"{last['primal']:.6g}",
            "gap": f"{self.gap:.2g}" if np.isfinite(self.gap) else "no certificate",
            "w": f"{self.w.shape} with {np.count_nonzero(self.w)} non-zeros",
        }
