"""Configurations refuse invalid values, and are restored from JSON and command lines."""

import dataclasses
import json
import types

import pytest

from zoo.config import ModelConfig, Recipe, TrainingConfig, change_recipe
from zoo.config_values import from_dict, override, to_dict
from zoo.training.runs import Run, check_settings
from zoo.training_config import AugmentConfig
from zoo.translation.recipes import RECIPES

OTHER = Recipe(
    ModelConfig(vocabulary_size=300, hidden_dim=24, num_heads=3, dropout=0.3, normalize_first=True),
    TrainingConfig(batch_tokens=100, steps=7, peak_learning_rate=0.01, precision="mixed_bfloat16", score="loss"),
    source="somewhere",
)


@pytest.mark.parametrize("recipe", [Recipe(), OTHER, *RECIPES.values()])
def test_from_dict_inverts_to_dict_through_json(recipe):
    restored = json.loads(json.dumps(to_dict(recipe)))
    for part in ("model", "training"):
        expected = getattr(recipe, part)
        assert from_dict(type(expected), restored[part]) == expected


def test_from_dict_takes_an_int_for_a_float():
    config = from_dict(ModelConfig, {"dropout": 0})
    assert config.dropout == 0.0 and type(config.dropout) is float


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"models": {}}, "Unknown field 'models' in Recipe. Did you mean 'model'.*model, training, source"),
        ({"model": {"hidden": 8}}, "Unknown field 'hidden' in ModelConfig.*hidden_dim"),
        ({"model": {"num_heads": "8"}}, "`num_heads` must be of type int. Received: '8'"),
        ({"model": {"num_heads": True}}, "`num_heads` must be of type int. Received: True"),
        ({"model": {"normalize_first": 1}}, "`normalize_first` must be of type bool. Received: 1"),
        ({"training": {"steps": 1.5}}, "`steps` must be of type int"),
        ({"model": 3}, "ModelConfig must be an object of named values. Received: 3"),
        ([], "Recipe must be an object"),
        ({"model": {"num_heads": 7}}, "multiple of `num_heads`"),
        ({"model": {"key_dim": 7}}, '`key_dim` is for the architectures "t5" and "t5.1.1".*key_dim=7'),
        ({"model": {"architecture": "t5"}}, "T5 is pre-norm.*normalize_first=False"),
        ({"model": {"architecture": "bart"}}, "must be one of transformer, t5, t5.1.1. Received: architecture='bart'"),
    ],
)
def test_from_dict_refuses(values, message):
    with pytest.raises(ValueError, match=message):
        from_dict(Recipe, values)


@pytest.mark.parametrize(
    ("assignment", "field", "value"),
    [
        ("training.steps=500", "steps", 500),
        ("training.batch_tokens=25_000", "batch_tokens", 25_000),
        ("training.peak_learning_rate=1e-3", "peak_learning_rate", 1e-3),
        ("training.label_smoothing=0", "label_smoothing", 0.0),
        ("training.score=loss", "score", "loss"),
        (" training.patience = 3 ", "patience", 3),
    ],
)
def test_override_parses_by_type(assignment, field, value):
    changed = override(Recipe(), [assignment])
    found = getattr(changed.training, field)
    assert found == value and type(found) is type(value)
    assert changed == dataclasses.replace(Recipe(), training=dataclasses.replace(TrainingConfig(), **{field: value}))


@pytest.mark.parametrize(("text", "value"), [("true", True), ("False", False)])
def test_override_parses_truth_values(text, value):
    assert override(Recipe(), [f"model.normalize_first={text}"]).model.normalize_first is value


def test_override_does_not_depend_on_the_order():
    # Either order has an invalid configuration in between.
    both = ["model.num_heads=3", "model.hidden_dim=24"]
    assert override(Recipe(), both) == override(Recipe(), both[::-1])
    shorter = ["training.steps=10", "training.cooldown_steps=5"]
    assert override(RECIPES["tiny"], shorter).training.cooldown_steps == 5


@pytest.mark.parametrize(
    ("recipe", "assignments", "expected"),
    [
        ("tiny", ["training.steps=1_400"], (1400, 100, 900)),  # Was refused: the cool-down of 9,000 did not fit.
        ("tiny", ["training.steps=28000"], (28_000, 2000, 18_000)),
        ("tiny", [" training.steps = 2", "training.warmup_steps=1"], (2, 1, 1)),
        ("tiny", ["training.steps=1400", "training.cooldown_steps=0"], (1400, 100, 0)),
        ("tiny", ["training.steps=9", "training.steps=1400"], (1400, 100, 900)),
        ("tiny", ["training.cooldown_steps=5"], (14_000, 1000, 5)),
        ("base", ["training.steps=5000"], (5000, 4000, 0)),  # Noam's peak depends on the warm-up.
        ("base", ["training.steps=5000", "training.peak_learning_rate=0.001"], (5000, 200, 0)),
    ],
)
def test_warm_up_and_cool_down_scale_with_the_steps(recipe, assignments, expected):
    found = change_recipe(RECIPES[recipe], assignments)
    settings = found.training
    assert (settings.steps, settings.warmup_steps, settings.cooldown_steps) == expected
    others = ["steps", "warmup_steps", "cooldown_steps", "peak_learning_rate"]
    for field in dataclasses.fields(settings):
        if field.name not in others:
            assert getattr(settings, field.name) == getattr(RECIPES[recipe].training, field.name)
    assert found.model == RECIPES[recipe].model


@pytest.mark.parametrize(
    ("assignments", "message"),
    [
        (["training.steps=x"], "`training.steps` must be of type int. Received: 'x'"),
        (["training.steps=0"], "`steps` must be at least 1"),
        (["training.steps=5", "training.cooldown_steps=6"], "`cooldown_steps` must be at most `steps`"),
        (["training.steps=5", "training.peak_learning_rate=x"], "peak_learning_rate` must be of type float"),
    ],
)
def test_change_recipe_refuses_what_override_refuses(assignments, message):
    with pytest.raises(ValueError, match=message):
        change_recipe(RECIPES["base"], assignments)


def test_the_last_assignment_wins_and_the_recipe_is_unchanged():
    recipe = Recipe()
    assert override(recipe, ["training.steps=5", "training.steps=6"]).training.steps == 6
    assert recipe == Recipe()


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("training.steps", "Expected NAME=VALUE. Received: 'training.steps'"),
        ("steps=5", "Unknown field 'steps' in steps.*Known fields: model, training, source"),
        ("training.step=5", "Unknown field 'step' in training.step. Did you mean 'steps'.*batch_tokens.*seed"),
        ("trainin.steps=5", "Unknown field 'trainin' in trainin.steps. Did you mean 'training'"),
        ("training=5", "`training` is a group of settings.*training.batch_tokens"),
        ("training.steps.more=5", "`steps` is a value and has no field 'more'"),
        ("training.steps=1.5", "`training.steps` must be of type int. Received: '1.5'"),
        ("training.steps=", "`training.steps` must be of type int. Received: ''"),
        ("model.dropout=high", "`model.dropout` must be of type float. Received: 'high'"),
        ("model.normalize_first=yes", "`model.normalize_first` must be true or false. Received: 'yes'"),
        ("model.num_heads=7", "multiple of `num_heads`"),
    ],
)
def test_override_refuses(assignment, message):
    with pytest.raises(ValueError, match=message):
        override(Recipe(), [assignment])


@pytest.mark.parametrize(
    "wrong",
    [
        *({name: 0} for name in ("vocabulary_size", "num_encoder_layers", "num_decoder_layers", "num_heads")),
        {"hidden_dim": -8},
        {"intermediate_dim": 0},
        {"dropout": 1.0},
        {"attention_dropout": -0.1},
        {"activation_dropout": float("nan")},
        {"hidden_dim": 9, "num_heads": 3},  # Sine and cosine come in pairs.
        {"hidden_dim": 10, "num_heads": 4},
    ],
)
def test_invalid_models(wrong):
    with pytest.raises(ValueError, match=f"`{[*wrong][0]}`.*Received: .*{[*wrong][0]}="):
        ModelConfig(**wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        *({name: 0} for name in ("batch_tokens", "steps", "warmup_steps", "max_tokens", "evaluate_every", "average")),
        {"label_smoothing": 1.0},
        {"subword_dropout": -0.1},
        {"micro_batch_tokens": -1},
        {"peak_learning_rate": -1e-3},
        {"peak_learning_rate": float("nan")},
        {"peak_learning_rate": float("inf")},
        {"patience": -1},
        {"cooldown_steps": 11, "steps": 10},
        {"score": "rouge"},
        {"precision": "float16"},
    ],
)
def test_invalid_training_configs(wrong):
    with pytest.raises(ValueError, match=f"`{[*wrong][0]}` must"):
        TrainingConfig(**wrong)


def test_configurations_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        ModelConfig().num_heads = 4


@pytest.mark.parametrize("make", [lambda: AugmentConfig(upper="a"), lambda: ModelConfig(num_heads=None)])
def test_values_of_another_type_are_refused_by_name(make):
    with pytest.raises(ValueError, match="`(upper|num_heads)` must .* Received: (upper='a'|num_heads=None)"):
        make()


def test_groups_of_settings_without_effect_are_named_by_their_setting():
    settings = TrainingConfig(augment=AugmentConfig(typos=0.5))
    message = r"^`augment.typos` has no effect .* Received: augment.typos=0.5. Leave it at 0.0.$"
    with pytest.raises(ValueError, match=message):
        check_settings(settings, [settings.score], ["augment"])


@pytest.mark.parametrize(
    "values, expected",
    [
        ({}, ("training.max_tokens", 9)),
        ({"max_length": 3}, ("model.max_length", 3)),
        ({"max_length": 20}, ("training.max_tokens", 9)),
    ],
)
def test_the_setting_that_limits_rows_is_named(values, expected, tmp_path):
    run = Run(Recipe(types.SimpleNamespace(**values), TrainingConfig(max_tokens=9)), None, None, tmp_path)
    assert run.token_limit == expected and run.max_tokens == expected[1]
