"""The metrics equal scikit-learn's and scipy's, degenerate inputs included."""

import warnings

import numpy as np
import pytest
import scipy.stats
import sklearn.metrics

from albert_tf.tasks import metrics

_RANDOM = np.random.default_rng(7)


def _quiet(function, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments, **options)


@pytest.mark.parametrize(
    "pair",
    [
        *(_RANDOM.integers(0, classes, (2, 97)) for classes in (2, 2, 5, 5)),
        *map(np.array, ([[0] * 3] * 2, [[1] * 3] * 2, [[1] * 3, [0] * 3], [[1], [1]])),
        np.array([[0, 1, 1], [0, 0, 0]]),
    ],
)
def test_class_metrics_equal_scikit_learn(pair):
    assert metrics.accuracy(*pair) == sklearn.metrics.accuracy_score(*pair)
    expected = _quiet(sklearn.metrics.matthews_corrcoef, *pair)
    assert metrics.matthews(*pair) == pytest.approx(expected, abs=1e-12)
    expected = _quiet(sklearn.metrics.f1_score, *pair, average="macro")
    assert metrics.macro_f1(*pair) == pytest.approx(expected, abs=1e-12)
    if pair.max() < 2:
        expected = _quiet(sklearn.metrics.f1_score, *pair)
        assert metrics.f1(*pair) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("classes", [2, 4])
def test_the_area_under_the_curve_equals_scikit_learn(classes):
    labels = _RANDOM.integers(0, classes, 80)
    scores = metrics.softmax(np.round(_RANDOM.normal(size=(80, classes)), 1))  # ties
    theirs = scores[:, 1] if classes == 2 else scores
    expected = sklearn.metrics.roc_auc_score(labels, theirs, multi_class="ovr")
    assert metrics.auc(labels, scores) == pytest.approx(expected, abs=1e-12)
    several = _RANDOM.integers(0, 2, (80, classes))
    expected = sklearn.metrics.roc_auc_score(several, scores)
    assert metrics.auc(several, scores) == pytest.approx(expected, abs=1e-12)
    several[:, 0] = 1  # has no curve
    expected = sklearn.metrics.roc_auc_score(several[:, 1:], scores[:, 1:])
    assert metrics.auc(several, scores) == pytest.approx(expected, abs=1e-12)
    assert np.isnan(metrics.auc(several[:, :1], scores[:, :1]))


def test_the_calibration_error_is_the_mean_gap_of_the_bins():
    labels = np.array([0, 0, 1, 1])
    probabilities = np.array([[0.99, 0.01], [0.97, 0.03], [0.95, 0.05], [0.3, 0.7]])
    # The first three share a bin: 2 of 3 are right. The last has one of its own.
    expected = abs(0.99 + 0.97 + 0.95 - 2) / 4 + (1 - 0.7) / 4
    assert metrics.calibration_error(labels, probabilities) == pytest.approx(expected)
    several = np.array([[1], [0]]), np.array([[1.0], [0.0]])
    assert metrics.calibration_error(*several) == 0
    shares, right = _RANDOM.random((300, 1)), _RANDOM.integers(0, 2, (300, 1))
    right[shares > 0.9] = 1
    shares[:9], right[:9] = 1, 0  # in the last bin, too, with another sign
    expected = 0
    for first in np.arange(15) / 15:
        own = (shares >= first) & ((shares < first + 1 / 15) | (first == 14 / 15))
        expected += abs(np.sum((shares - right)[own])) / 300
    assert metrics.calibration_error(right, shares) == pytest.approx(expected)


@pytest.mark.parametrize(
    "pair",
    [
        _RANDOM.normal(size=(2, 50)),
        _RANDOM.integers(0, 4, (2, 60)).astype(float),  # ties
        *np.array([[[1, 2], [5, 3]]], float),
        *np.array([[[1, 1, 1], [1, 2, 3]], [[1, 2, 3], [4, 4, 4]]], float),
        np.array([[2.0, 2], [2, 2]]),
    ],
)
def test_correlations_equal_scipy(pair):
    for ours, theirs in (
        (metrics.pearson, scipy.stats.pearsonr),
        (metrics.spearman, scipy.stats.spearmanr),
    ):
        expected = _quiet(theirs, *pair).statistic
        assert ours(*pair) == pytest.approx(expected, abs=1e-12, nan_ok=True)
    expected = _quiet(sklearn.metrics.r2_score, *pair)
    assert metrics.r_squared(*pair) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_multi_label_metrics_equal_scikit_learn(share):
    labels = (_RANDOM.random((40, 6)) < share).astype(int)
    pair = labels, (_RANDOM.random((40, 6)) < 0.4).astype(int) * (share > 0)
    assert metrics.accuracy(*pair) == sklearn.metrics.accuracy_score(*pair)
    for average, ours in (("micro", metrics.f1), ("macro", metrics.macro_f1)):
        expected = _quiet(sklearn.metrics.f1_score, *pair, average=average)
        assert ours(*pair) == pytest.approx(expected, abs=1e-12)


def test_confusion_and_per_class_scores_equal_scikit_learn():
    labels, predictions = pair = _RANDOM.integers(0, 4, (2, 60))
    predictions[predictions == 2] = 1  # a class never predicted
    confusion = metrics.confusion_matrix(labels, predictions, 4)
    expected = sklearn.metrics.confusion_matrix(*pair, labels=range(4))
    np.testing.assert_array_equal(confusion, expected)
    found = [[*scores.values()] for scores in metrics.per_class(confusion)]
    theirs = sklearn.metrics.precision_recall_fscore_support
    expected = np.transpose(_quiet(theirs, *pair, labels=range(4)))
    np.testing.assert_allclose(found, expected)


def test_each_name_stands_for_its_own_metric():
    """On values that tell all of them apart."""

    def check(labels, predictions, **expected):
        pair = np.array(labels), np.array(predictions)
        found = {name: metrics.METRICS[name](*pair) for name in expected}
        assert found == pytest.approx(expected)

    of_classes = {"accuracy": 0.6, "f1": 2 / 3, "macro_f1": 7 / 12}
    check([0, 0, 1, 1, 1], [0, 1, 1, 1, 0], **of_classes, matthew_corr=1 / 6)
    of_numbers = {"spearman": 1.0, "MSE": 12.0, "pearson": 4 / np.sqrt(19)}
    check([1.0, 2.0, 3.0], [1.0, 2.0, 9.0], **of_numbers)
    assert np.isnan([metrics.pearson(x, x) for x in ([], [1.0])]).all()
