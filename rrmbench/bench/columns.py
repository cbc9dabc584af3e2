"""The names of what is measured of a run beside passes and seconds."""

METRICS = (
    "train_error",
    "test_error",
    "test_accuracy",
    "train_f1",
    "test_f1",
    "test_rmse",
)  # see `rrmbench.bench.metrics`
MEASURES = ("suboptimality", "gap", "objective", "dual", "nonzeros", *METRICS)  # what a figure may show
