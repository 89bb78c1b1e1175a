"""Settings and the schedule."""

import pytest

from polyseme.errors import InputError
from polyseme.train.engine.schedule import learning_rate, share_done
from polyseme.train.lm.settings import PRESETS, settings_of


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("90m", 5400),
        ("1h30m", 5400),
        ("45s", 45),
        ("2d", 172_800),
        ("12.5", 12.5),
        (3, 3),
        ("5 minutes", 300),
        ("1 hour 30min", 5400),
    ],
)
def test_times(written: object, seconds: float) -> None:
    assert settings_of(time_budget=written).time_budget == seconds


def test_presets_and_what_is_given() -> None:
    assert settings_of("original").layout == "rows"
    assert settings_of("tiny", filters="1:4,3:8").filters == ((1, 4), (3, 8))
    assert settings_of("tiny", cutoffs="10,20").cutoffs == (10, 20)
    assert settings_of("medium", hidden_dim=None).hidden_dim == PRESETS["medium"]["hidden_dim"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"hiden_dim": 4}, r"^unknown setting 'hiden_dim'; did you mean hidden_dim\? there are epochs, time_budget"),
        ({"filters": "wide"}, r"^setting filters: 'wide' is not a list of filters; write width:count"),
        (
            {"softmax": "adaptive", "cutoffs": ""},
            r"^softmax 'adaptive' needs cutoffs; give some, or use softmax 'full'",
        ),
        (
            {"softmax": "adaptive", "output_bias": "counts"},
            r"^output_bias 'counts' is for a full or sampled softmax; leave it out with 'adaptive'",
        ),
        ({"cutoffs": "20,10"}, r"^cutoffs \(20, 10\) must be positive and rise"),
        ({"filters": "60:4"}, r"^a filter of width 60 does not fit into max_characters 50"),
        ({"dropout": 1.0}, r"^setting dropout: should be less than 1, got 1.0"),
        ({"decay_share": 0}, r"^setting decay_share: should be more than 0, got 0"),
        # The bounds of a model's configuration.
        ({"filters": "0:32"}, r"^setting filters: should be at least 1, got 0"),
        ({"filters": "1:2000000"}, r"^setting filters: should be at most 1048576, got 2000000"),
        ({"layers": 65}, r"^setting layers: should be at most 64, got 65"),
        ({"highway_layers": 65}, r"^setting highway_layers: should be at most 64, got 65"),
        ({"encoder": "gated-cnn", "width": 65}, r"^setting width: should be at most 64, got 65"),
        ({"character_dim": 1 << 21}, r"^setting character_dim: should be at most 1048576"),
        ({"projection_dim": 1 << 21}, r"^setting projection_dim: should be at most 1048576"),
        ({"hidden_dim": 1 << 21}, r"^setting hidden_dim: should be at most 1048576"),
        ({"cutoffs": "10,2000000"}, r"^setting cutoffs: should be at most 1048576, got 2000000"),
    ],
)
def test_what_is_not_possible_is_named(given: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        settings_of(**given)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^unknown preset 'huge'; choose one of tiny, small, medium, original"):
        settings_of("huge")  # type: ignore[arg-type]


def test_the_rate_rises_over_the_warm_up_and_falls_to_almost_nothing() -> None:
    settings = settings_of(learning_rate=1.0, warmup=10)
    assert learning_rate(settings, update=4, share=0.0) == pytest.approx(0.5)
    assert learning_rate(settings, update=500, share=0.5) == pytest.approx(0.5)
    assert learning_rate(settings, update=900, share=1.0) == pytest.approx(0.01)
    # A short run does not spend itself on the warm-up.
    assert learning_rate(settings_of(learning_rate=1.0, warmup=1000), update=3, share=0.05) > 0.99


def test_a_late_decay_is_constant_and_then_a_straight_line_to_almost_nothing() -> None:
    settings = settings_of(learning_rate=2.0, warmup=0, decay="late", decay_share=0.25)
    rates = [learning_rate(settings, update=9, share=share) for share in (0.0, 0.5, 0.75, 0.8, 0.95, 1.0)]
    assert rates == pytest.approx([2.0, 2.0, 2.0, 1.6, 0.4, 0.02])
    whole = settings_of(learning_rate=2.0, warmup=0, decay="late", decay_share=1.0)
    linear = settings_of(learning_rate=2.0, warmup=0, decay="linear")
    for share in (0.0, 0.3, 0.9):
        assert learning_rate(whole, update=9, share=share) == learning_rate(linear, update=9, share=share)


def test_the_share_done_is_that_of_the_nearest_limit() -> None:
    settings = settings_of(epochs=10, updates=1000, time_budget=100)
    assert share_done(settings, epoch=1, epoch_share=0.5, update=10, elapsed=1) == pytest.approx(0.15)
    assert share_done(settings, epoch=1, epoch_share=0.5, update=10, elapsed=90) == pytest.approx(0.9)
    assert share_done(settings, epoch=1, epoch_share=0.5, update=1500, elapsed=9) == 1.0
