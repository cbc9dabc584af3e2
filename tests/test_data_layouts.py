"""Tasks, kernels, a free bias and targets: the layouts of rows of features, against naive numpy."""

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rrmbench import data
from rrmbench.data import cache, catalogue, commands, libsvm, prepare, spec, transform
from rrmbench.errors import RrmbenchError
from rrmbench.problem.labels import mode_of

REAL = os.environ.get("RRMBENCH_DATA")
# tasks 3 and 20, not in order
TASKS = "1 qid:20 1:3 2:4\n2 qid:3 2:2\n5 qid:20 1:1\n2 qid:3 3:8\n"


@pytest.fixture(autouse=True)
def folder(own_folder):
    (own_folder / "tasks.svm").write_text(TASKS)
    return own_folder


def load(labels="any", path="tasks.svm", **keys):
    return prepare.load({"path": str(path), **keys}, labels)


def write(path, X, y, qid=None):
    """Write dense rows, zeros left out; labels may be texts."""
    lines = []
    for i, row in enumerate(X):
        task = "" if qid is None else f" qid:{qid[i]}"
        lines.append(f"{y[i]}{task}" + "".join(f" {j}:{v!r}" for j, v in enumerate(row.tolist(), 1) if v))
    path.write_text("\n".join(lines) + "\n")


def dense(operator):
    """X of a vector model, one column after the other."""
    return np.column_stack([operator.forward(e) for e in np.eye(operator.shape[1])])


# tasks


def test_the_column_of_a_feature_is_one_of_its_task():
    prepared = load(tasks="qid")
    assert prepared.shape == (4, 6) and prepared.info["model"] == [3, 2]
    data_, indices, indptr = prepared.X_parts
    assert data_.tolist() == [3, 4, 2, 1, 8]
    assert indices.tolist() == [0 * 2 + 1, 1 * 2 + 1, 1 * 2 + 0, 0 * 2 + 1, 2 * 2 + 0]
    assert indptr.tolist() == [0, 2, 3, 4, 5]
    assert prepared.y.tolist() == [1, 2, 5, 2]


@given(data=st.data())
def test_the_operator_of_tasks_is_a_loop_over_tasks(tmp_path_factory, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    n, d, k = (data.draw(st.integers(1, m)) for m in (12, 5, 4))
    X = np.where(rng.random((n, d)) < 0.6, rng.normal(size=(n, d)), 0.0)
    X[0, d - 1] = 1.0
    qid = rng.integers(k, size=n) * 7
    path = tmp_path_factory.mktemp("tasks") / "rows.svm"
    write(path, X, rng.normal(size=n), qid)
    bias = data.draw(st.sampled_from(["none", "regularized"]))
    scale = data.draw(st.sampled_from(["none", "max_abs", "unit_rows"]))
    prepared = load(path=path, tasks="qid", bias=bias, scale=scale)
    X = dense(load(path=path, bias=bias, scale=scale).operator())  # scaling does not see the tasks
    operator, known = prepared.operator(), np.unique(qid)
    assert operator.shape == (n, X.shape[1], len(known))
    W, b = rng.normal(size=operator.shape[1:]), rng.normal(size=n)
    z, adjoint = np.empty(n), np.zeros(W.shape)
    for t, q in enumerate(known):
        z[qid == q] = X[qid == q] @ W[:, t]
        adjoint[:, t] = X[qid == q].T @ b[qid == q]
    np.testing.assert_allclose(operator.forward(W), z, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(operator.adjoint(b), adjoint, rtol=1e-12, atol=1e-12)


def test_a_test_file_has_the_tasks_of_the_training_file(folder):
    (folder / "test.svm").write_text("7 qid:20 1:1\n1 qid:3 1:5 9:1\n")
    X = load(tasks="qid", test="test.svm").test_operator()
    W = np.arange(6.0).reshape(3, 2)
    assert X.forward(W).tolist() == [W[0, 1], 5 * W[0, 0]]
    (folder / "test.svm").write_text("7 qid:20 1:1\n1 qid:4 1:5\n")
    with pytest.raises(RrmbenchError, match=r"tasks\.svm: found qid 4 in the test part, but no training row has it"):
        load(tasks="qid", test="test.svm")
    (folder / "test.svm").write_text("\n7 qid:20 1:1\n1 1:5\n")
    with pytest.raises(RrmbenchError, match=r"test\.svm:3: the row has no qid, by which 'tasks: qid'"):
        load(tasks="qid", test="test.svm")


def test_rows_without_a_task_are_named(folder):
    (folder / "some.svm").write_text("# qid:1 in a comment\n1 qid:1 1:1\n2 # qid:1\n1 qid:1 2:1\n")
    with pytest.raises(RrmbenchError, match=r"some\.svm:3: the row has no qid"):
        load(path="some.svm", tasks="qid")
    assert load(path="some.svm").shape == (3, 2)  # without tasks, qid means nothing


def test_the_reader_returns_qid(folder):
    assert libsvm.read("tasks.svm").qid.tolist() == [20, 3, 20, 3]
    for text in ("1 1:1\n2 2:1\n", "1 qid:1 1:1\n2 2:1\n"):
        (folder / "some.svm").write_text(text)
        assert libsvm.read("some.svm").qid is None
    (folder / "lists.svm").write_text("1,2 qid:5 1:1\n2 qid:4 2:1\n")
    assert libsvm.read("lists.svm").qid.tolist() == [5, 4]


@pytest.mark.parametrize(("qid", "reason"), [("-1", "not a whole number"), ("9" * 30, "greater than")])
def test_a_bad_qid_is_refused(folder, qid, reason):
    (folder / "bad.svm").write_text(f"1 qid:1 1:1\n1 qid:{qid} 1:1\n")
    with pytest.raises(RrmbenchError, match=rf"bad\.svm:2: found 'qid:{qid}': qid is {reason}"):
        libsvm.read("bad.svm")


@given(
    sizes=st.lists(st.integers(1, 30), min_size=1, max_size=6),
    fraction=st.floats(0.05, 0.95),
    seed=st.integers(0, 9),
)
def test_a_split_with_groups_takes_the_fraction_of_each(sizes, fraction, seed):
    groups = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)) * 3, sizes))
    n = len(groups)
    wanted = [max(1, round(fraction * size)) for size in sizes]
    if sum(wanted) == n:
        with pytest.raises(RrmbenchError, match="leaves one part empty"):
            transform.split_rows(n, fraction, seed, "here", groups)
        return
    train, test = transform.split_rows(n, fraction, seed, "here", groups)
    assert sorted([*train, *test]) == list(range(n))
    assert (np.diff(train) > 0).all() and (np.diff(test) > 0).all()
    assert np.bincount(groups[train], minlength=groups.max() + 1)[::3].tolist() == wanted


def test_a_split_with_tasks_is_one_of_each_task(folder):
    rng = np.random.default_rng(0)
    qid = np.repeat([5, 1, 9], [40, 8, 100])
    write(folder / "three.svm", rng.normal(size=(148, 2)), np.arange(148), qid)
    prepared = load(path="three.svm", tasks="qid", split=0.75)
    train = prepared.y.astype(int)
    assert np.unique(qid[train], return_counts=True)[1].tolist() == [6, 30, 75]
    assert np.sort([*train, *prepared.test_y]).tolist() == list(range(148))
    again, other = (load(path="three.svm", tasks="qid", split=0.75, split_seed=seed).y for seed in (0, 1))
    assert again.tolist() == prepared.y.tolist() != other.tolist()


def test_a_task_of_a_single_row_is_for_training(folder):
    (folder / "lone.svm").write_text("1 qid:1 1:1\n" + "1 qid:2 1:1\n" * 8)
    for seed in range(4):
        prepared = load(path="lone.svm", tasks="qid", split=0.25, split_seed=seed)
        assert (prepared.shape[0], prepared.info["model"]) == (3, [1, 2])


def test_school_is_139_tasks_split_by_school(monkeypatch):
    monkeypatch.setenv("RRMBENCH_DATA", REAL or "")
    if REAL is None or not commands.fetch.locate(catalogue.get("school")):
        pytest.skip("the file of 'school' is not in RRMBENCH_DATA")
    prepared = prepare.load({"name": "school", "tasks": "qid", "split": 0.75, "bias": "regularized"}, "any")
    assert prepared.info["model"] == [28, 139]
    assert prepared.info["labels"] == "as in the file"
    parsed = libsvm.read(commands.fetch.locate(catalogue.get("school")))
    sizes = np.unique(parsed.qid, return_counts=True)[1]
    # the last feature, which is 1 throughout, counts the rows of every task
    counts = [X.adjoint(np.ones(X.shape[0]))[-1] for X in (prepared.operator(), prepared.test_operator())]
    assert counts[0].tolist() == [round(0.75 * size) for size in sizes]
    assert (counts[0] + counts[1]).tolist() == sizes.tolist()
    assert sorted([*prepared.y, *prepared.test_y]) == sorted(parsed.labels)


# kernels


def values(kernel, A, B):
    """The kernel matrix by the definitions."""
    if kernel["name"] == "rbf":
        return np.array([[np.exp(-kernel["gamma"] * np.sum((a - b) ** 2)) for b in B] for a in A])
    inner = np.array([[sum(x * y for x, y in zip(a, b, strict=True)) for b in B] for a in A])
    return inner if kernel["name"] == "linear" else (kernel["gamma"] * inner + kernel["coef0"]) ** kernel["degree"]


KERNELS = {
    "rbf": {"name": "rbf", "gamma": 0.3},
    "linear": {"name": "linear"},
    "polynomial": {"name": "polynomial", "gamma": 0.5, "coef0": 2.0, "degree": 2},
}


@pytest.mark.parametrize("name", KERNELS)
def test_the_rows_of_a_kernel_are_an_isometry(folder, name):
    """F F' = K; representer coefficients give the same predictions and the same norm."""
    rng = np.random.default_rng(1)
    train, test = rng.normal(size=(12, 3)), rng.normal(size=(7, 3))
    train[5] = train[2]  # a double row: K is singular
    write(folder / "train.svm", train, [1, -1] * 6)
    write(folder / "test.svm", test, [1] * 7)
    prepared = load("binary", "train.svm", test="test.svm", kernel=KERNELS[name])
    F, F_test = dense(prepared.operator()), dense(prepared.test_operator())
    K, K_test = values(KERNELS[name], train, train), values(KERNELS[name], test, train)
    assert F.shape[1] == np.linalg.matrix_rank(K) < 12
    np.testing.assert_allclose(F @ F.T, K, atol=1e-12 * K.max())
    zeta = rng.normal(size=12)
    w = F.T @ zeta
    assert w @ w == pytest.approx(zeta @ K @ zeta, rel=1e-10)
    np.testing.assert_allclose(F @ w, K @ zeta, atol=1e-10 * K.max())
    np.testing.assert_allclose(F_test @ w, K_test @ zeta, atol=1e-8 * K.max())
    assert prepared.info["kernel"] == KERNELS[name]


def test_a_kernel_sees_scaled_rows_and_the_bias_comes_after_it(folder):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(9, 4))
    write(folder / "rows.svm", X, [1, -1, 1] * 3)
    prepared = load("binary", "rows.svm", kernel="rbf", scale="max_abs", bias="free")
    F = dense(prepared.operator())
    assert F[:, -1].tolist() == [1] * 9
    scaled = X / np.abs(X).max(axis=0)
    wanted = values({"name": "rbf", "gamma": 0.25}, scaled, scaled)  # 1/d
    np.testing.assert_allclose(F[:, :-1] @ F[:, :-1].T, wanted, atol=1e-12)
    assert prepared.info["kernel"] == {"name": "rbf", "gamma": 0.25}
    assert prepared.info["bias"] == "free"


def test_spelling_does_not_change_the_key_of_a_kernel():
    alike = ["polynomial", {"name": "polynomial"}, {"coef0": 1, "name": "polynomial", "degree": 3}]
    assert len({load(kernel=kernel).key for kernel in alike}) == 1
    assert load(kernel={"name": "polynomial", "degree": 2}).key != load(kernel="polynomial").key != load().key


def test_a_kernel_of_too_many_rows_is_refused_before_the_work(folder):
    (folder / "many.svm").write_text("".join(f"{1 if i % 2 else -1} 1:{i + 1}\n" for i in range(5001)))
    with pytest.raises(
        RrmbenchError, match=r"many\.svm: 'kernel' .* 5001 training rows, at most 5000 .*'subset: 5000'"
    ):
        load(path="many.svm", kernel="rbf")
    assert load(path="many.svm", kernel="linear", subset=4).shape == (4, 1)


def test_kernel_values_that_are_not_numbers_or_all_zero_are_refused(folder):
    (folder / "big.svm").write_text("1 1:1e200\n-1 1:1e201\n0 1:0\n0 1:0\n")
    with pytest.raises(RrmbenchError, match=r"big\.svm: values of the kernel .*linear.* are not finite; 'scale'"):
        load(path="big.svm", kernel="linear")
    (folder / "zero.svm").write_text("1 1:0\n-1 1:0\n2 1:1\n")
    with pytest.raises(RrmbenchError, match=r"zero\.svm: all values of the kernel .*linear.* are zero"):
        load(path="zero.svm", kernel="linear", subset=2)


# the block

WRONG = {
    "unknown kernel": ({"kernel": {"name": "rfb"}}, "dataset.kernel.name: unknown kernel 'rfb'", "'rbf'"),
    "unknown bare kernel": ({"kernel": "polynomal"}, "dataset.kernel.name: unknown", "did you mean 'polynomial'"),
    "no kernel name": ({"kernel": {"gamma": 1}}, "dataset.kernel: found {'gamma': 1}", "linear, rbf, polynomial"),
    "kernel is a number": ({"kernel": 3}, "dataset.kernel: found 3", "a mapping"),
    "name is a list": ({"kernel": {"name": ["rbf"]}}, "dataset.kernel: found", "a mapping"),
    "unknown parameter": ({"kernel": {"name": "rbf", "gama": 1}}, "dataset.kernel.gama: kernel 'rbf'", "'gamma'?"),
    "other's parameter": ({"kernel": {"name": "linear", "gamma": 1}}, "dataset.kernel.gamma: ", "it has: none"),
    "gamma of zero": ({"kernel": {"name": "rbf", "gamma": 0}}, "dataset.kernel.gamma: found 0", "greater than 0"),
    "half a degree": ({"kernel": {"name": "polynomial", "degree": 1.5}}, "dataset.kernel.degree: found 1.5", "a whole"),
    "indefinite": ({"kernel": {"name": "polynomial", "coef0": -1}}, "dataset.kernel.coef0: found -1", "at least 0"),
    "tasks of a kernel": ({"kernel": "rbf", "tasks": "qid"}, "dataset.kernel: not possible with 'tasks'", "features"),
    "best bias of tasks": ({"tasks": "qid", "bias": "minimized"}, "dataset.bias: found 'minimized'", "'regularized'"),
    "free bias of tasks": ({"tasks": "qid", "bias": "free"}, "dataset.bias: found 'free'", "'regularized'"),
    "tasks by another": ({"tasks": "school"}, "dataset.tasks: found 'school'", "'qid'"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_bad_block_is_refused_with_the_key_and_what_is_allowed(case):
    block, start, also = WRONG[case]
    with pytest.raises(RrmbenchError) as error:
        spec.check({"path": "tasks.svm"} | block)
    assert str(error.value).startswith(start)
    assert also in str(error.value)


def test_traits_of_a_block():
    def traits(**keys):
        return set(data.traits_of(spec.check({"path": "tasks.svm"} | keys)))

    assert traits() == traits(bias="regularized") == {"rows"}
    assert traits(bias="free") == {"free_bias"}
    assert traits(bias="minimized") == {"minimized_bias"}
    assert traits(tasks="qid") == {"tasks"}
    assert traits(kernel="rbf") == {"rows", "kernel"}
    assert set(data.traits_of({"name": "ratings_small"})) == {"tasks"}


def test_a_free_bias_is_a_column_of_ones():
    free, regularized = (load(bias=bias) for bias in ("free", "regularized"))
    assert (dense(free.operator()) == dense(regularized.operator())).all()
    assert (free.info["bias"], regularized.info["bias"], load().info["bias"]) == ("free", "regularized", "none")
    assert free.key != regularized.key
    minimized = load(bias="minimized")
    assert (dense(minimized.operator()) == dense(load().operator())).all()  # no column
    assert minimized.info["bias"] == "minimized"


# targets


def test_the_needs_of_a_loss_say_what_labels_are():
    needs = ({"binary"}, {"classes"}, {"targets"}, {"smooth"})
    assert [mode_of(needed) for needed in needs] == ["binary", "classes", "targets", "any"]


def test_lists_of_numbers_are_targets_in_the_order_of_the_file(folder):
    (folder / "lists.svm").write_text("3,1,-2 1:1\n0.5,7,2 2:1 # 1,2\n\n1,1,1 1:2\n")
    (folder / "test.svm").write_text("9,8,7 1:4\n")
    prepared = load("targets", "lists.svm", test="test.svm", bias="regularized")
    assert prepared.y.tolist() == [[3, 1, -2], [0.5, 7, 2], [1, 1, 1]]
    assert prepared.test_y.tolist() == [[9, 8, 7]]
    assert (prepared.info["outputs"], prepared.info["classes"]) == (3, None)
    assert prepared.operator().shape == (3, 3, 3)
    assert prepared.test_operator().forward(np.eye(3)).tolist() == [[4, 0, 1]]
    again = cache.open_cached(prepared.key)
    assert again.y.tolist() == prepared.y.tolist() and not again.y.flags.writeable


def test_single_labels_become_unit_vectors_of_the_classes(folder):
    (folder / "five.svm").write_text("".join(f"{label} 1:{label}\n" for label in (7, -1, 3, 7, 3)))
    targets, classes = (load(mode, "five.svm") for mode in ("targets", "classes"))
    assert classes.y.tolist() == [2, 0, 1, 2, 1]
    assert targets.y.tolist() == np.eye(3)[[2, 0, 1, 2, 1]].tolist()
    for prepared in (targets, classes):
        assert [prepared.info[key] for key in ("classes", "outputs", "task")] == [3, 3, "multiclass"]
        assert prepared.operator().shape == (5, 1, 3)


def test_a_2d_y_of_another_shape_in_the_cache_is_noticed(folder):
    (folder / "lists.svm").write_text("3,1 1:1\n1,2 2:1\n")
    stored = folder / "cache" / "data" / load("targets", "lists.svm").key
    np.save(stored / "y.npy", np.zeros(4))
    with pytest.raises(RrmbenchError, match="missing or damaged"):
        cache.open_cached(stored.name)
    assert load("targets", "lists.svm").y.tolist() == [[3, 1], [1, 2]]


@pytest.mark.parametrize(
    ("text", "keys", "message"),
    [
        ("1,2 1:1\n1,2,3 2:1\n", {}, "needs 2 in every row, as in the first one; row 2 has 3"),
        ("1 1:1\n1,2 2:1\n", {}, "needs two in every row at least; row 1 has 1"),
        ("1 1:1\n2 2:1\n", {"positive": 2}, "needs all labels, found 'positive: 2'"),
        ("1 1:1\n1 2:1\n", {}, "needs two classes at least, found 1 alone"),
        ("1 1:1\n2 2:1\n", {"flip": 0.5}, "'flip' flips two labels"),
        ("1,-1 1:1\n-1,1 2:1\n", {"flip": 0.5}, "'flip' flips two labels"),
        ("1 1:1\n2 2:1\n", {"test": "tasks.svm"}, "found the label 5, in training only 1, 2"),
        ("1 1:1\n2 2:1\n", {"test": "lists.svm"}, "found lists of labels 1, 2, 3, in training only 1, 2"),
        ("1,2 1:1\n2,1 2:1\n", {"test": "lists.svm"}, "needs 2 in every row, as in the first one; row 2 has 1"),
    ],
)
def test_labels_that_are_no_targets_are_refused(folder, text, keys, message):
    (folder / "labels.svm").write_text(text)
    (folder / "lists.svm").write_text("1,2 1:1\n3 1:1\n")
    where = keys.get("test", "labels.svm")  # the file with the labels
    with pytest.raises(RrmbenchError, match=rf"/{where}: .*{message}"):
        load("targets", "labels.svm", **keys)


def test_tasks_have_one_output_per_row():
    for labels in ("classes", "targets"):
        with pytest.raises(RrmbenchError, match=r"tasks\.svm: 'tasks: qid' makes one output per row"):
            load(labels, tasks="qid")
