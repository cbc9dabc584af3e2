"""The names of what is measured of a run beside passes and seconds."""

# see `rrmbench.bench.metrics`
METRICS = ("train_error", "test_error", "test_accuracy", "test_rmse", "test_f1")
MEASURES = ("suboptimality", "gap", "objective", "dual", "nonzeros", *METRICS)  # what a figure may show
