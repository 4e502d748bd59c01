"""Bodies of requests, from which the OpenAPI description is made."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Model = Annotated[str, Field(description="Name of a model, from /v1/models.", examples=["translation/en-de"])]
MOST = 256


class Body(BaseModel):
    """Base of all bodies; unknown fields are errors."""

    model_config = ConfigDict(extra="forbid")
    model: Model

    def options(self) -> dict:
        """Returns the options of the action."""
        return {name: getattr(self, name) for name in type(self).model_fields if name not in _INPUTS}


class Texts(Body):
    """Texts of one model."""

    texts: Annotated[list[str], Field(min_length=1, max_length=MOST, examples=[["Where is my hat?"]])]

    def inputs(self) -> list:
        """Returns the inputs."""
        return self.texts


class Translate(Texts):
    """Texts to translate."""

    num_return: Annotated[int, Field(ge=1, le=16, description="Number of translations of each text.")] = 1
    beam_size: Annotated[int | None, Field(ge=1, le=32, description="Number of beams.")] = None
    length_penalty: Annotated[float | None, Field(ge=-10, le=10)] = None


class Pairs(Texts):
    """Texts, or pairs of texts for models of pairs, to classify."""

    texts: Annotated[list[str | tuple[str, str]], Field(min_length=1, max_length=MOST)]


class Sentences(Texts):
    """Sentences as texts, or as lists of words, to tag or to parse."""

    texts: Annotated[list[str | list[str]], Field(min_length=1, max_length=MOST, examples=[["The dogs are here."]])]


class Generate(Texts):
    """Prompts to continue."""

    max_tokens: Annotated[int | None, Field(ge=1, le=1000, description="200, or what positions leave.")] = None
    temperature: Annotated[float, Field(ge=0, le=10)] = 1.0
    top_k: Annotated[int, Field(ge=0)] = 0
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0


class OneText(Body):
    """One text."""

    text: Annotated[str, Field(min_length=1, examples=["Where is my hat?"])]

    def inputs(self) -> list:
        """Returns the text as a list."""
        return [self.text]


class Search(OneText):
    """A sentence whose search is shown."""

    beam_size: Annotated[int | None, Field(ge=2, le=8)] = None


class Attention(OneText):
    """A text and its translation, by default that of the model."""

    translation: str | None = None
    kind: Literal["cross", "encoder", "decoder"] = "cross"
    layer: Annotated[int, Field(ge=-64, le=63, description="Number from 0; -1 is the last.")] = -1

    def inputs(self) -> list:
        """Returns the pair of both texts."""
        return [(self.text, self.translation)]


_INPUTS = "model", "texts", "text", "translation"
