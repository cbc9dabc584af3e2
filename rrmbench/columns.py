"""The names of what is measured of a run, and of what a figure may be of."""

COUNTS, CLOCKS = ("passes", "work"), ("seconds", "cpu_seconds")
METRICS = (
    "train_error",
    "test_error",
    "test_accuracy",
    "test_rmse",
    "test_f1",
    "letter_error",
    "word_error",
    "train_letter_error",
    "test_letter_error",
    "train_word_error",
    "test_word_error",
)  # see `rrmbench.bench.metrics`
X = COUNTS + CLOCKS  # what a figure may be over
MEASURES = ("suboptimality", "gap", "objective", "dual", "nonzeros", *METRICS)  # what a figure may show
FACETS = ("rows", "columns", "figure")  # by the keys that `plot:` gives each
