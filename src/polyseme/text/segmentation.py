"""How a text is split into sentences and tokens, and how a model's tokeniser is followed for other text."""

import io
from collections.abc import Callable
from dataclasses import dataclass

from polyseme.errors import InputError
from polyseme.text.choices import BY_DICTIONARY, TOKENIZER_CHOICES, TOKENIZERS, Tokenizer, TokenizerChoice
from polyseme.text.dictionary import Dictionary
from polyseme.text.icu import INSTALL, NEEDED_BY, is_installed
from polyseme.text.looks import FITTING, language_of, look_at
from polyseme.text.tokenizers import tokenized

_READ_AS_TOKENISED = "the text is read as tokenised (one sentence per line, tokens between spaces)"


@dataclass(frozen=True)
class Segmentation:
    """How running text is split into sentences and tokens; a model records this for the text it was trained on.

    Attributes:
        tokenizer: The tokeniser; None for text that is already tokenised: one sentence per line, tokens between spaces.
        dictionary: The words that the tokeniser, one of a language without spaces, keeps whole.

    Example:
        >>> Segmentation("en").sentences("It's late. Go home!")
        [['It', "'s", 'late', '.'], ['Go', 'home', '!']]
    """

    tokenizer: Tokenizer | None = None
    dictionary: Dictionary | None = None

    def __post_init__(self) -> None:
        if self.tokenizer not in (None, *TOKENIZERS):
            raise InputError(f"unknown tokenizer {self.tokenizer!r}; choose one of {', '.join(TOKENIZERS)}")
        if self.dictionary is not None and self.tokenizer not in BY_DICTIONARY:
            what = "text that is already tokenised" if self.tokenizer is None else f"the tokenizer {self.tokenizer!r}"
            raise InputError(
                f"a dictionary is for the tokenizer 'zh' (or {', '.join(BY_DICTIONARY[1:])}), not for {what}; leave it "
                "out, or tokenize by 'zh'"
            )

    def __str__(self) -> str:
        words = f" with a dictionary of {self.dictionary}" if self.dictionary else ""
        return f"--tokenize {self.tokenizer or 'none'}{words}"

    def sentences(self, text: str) -> list[list[str]]:
        """The sentences of a text, each a list of tokens; sentences without tokens are left out."""
        if self.tokenizer is None:
            return [tokens for line in text.splitlines() if (tokens := line.split())]
        return list(tokenized(io.StringIO(text, newline=None).readline, self.tokenizer, self.dictionary))


def check_choice(choice: str | None) -> TokenizerChoice:
    """Raise an error if this is not a choice of a tokeniser; None means the same as ``none``."""
    if choice is None:
        return "none"
    for known in TOKENIZER_CHOICES:
        if choice == known:
            return known
    raise InputError(f"unknown tokenizer {choice!r}; choose one of {', '.join(TOKENIZER_CHOICES)}")


def resolve(
    choice: TokenizerChoice,
    dictionary: Dictionary | None,
    model: Segmentation | None,
    beginning: Callable[[], str],
) -> tuple[Segmentation, str | None]:
    """Decide how a text is tokenised.

    Args:
        choice: What the user chose.
        dictionary: Words to keep whole; by default those of the model's text.
        model: How the model's text was tokenised; None if the model is yet to be trained.
        beginning: Returns the beginning of the text, empty if it is not known; only called if it matters.

    Returns:
        How to tokenise it, and one line to show to the user, or None.
    """
    if choice != "auto":
        return _as_asked(None if choice == "none" else choice, dictionary, model, beginning)
    if model is None:
        return _by_its_look(dictionary, beginning())
    if model.tokenizer is None:
        fitting = None if dictionary else FITTING.get(look_at(beginning()))
        note = (
            f"{_READ_AS_TOKENISED}, as the model does not record how its text was tokenised; it looks raw, and "
            f"--tokenize {fitting} would tokenise it"
        )
        return Segmentation(None, dictionary), note if fitting else None
    chosen = Segmentation(model.tokenizer, dictionary or model.dictionary)
    text = beginning()
    unread = _unread(model, text)
    if chosen != model:
        return chosen, f"the text is tokenised by {chosen}{_otherwise(chosen, model)}{unread}"
    again = "; it looks tokenised, and --tokenize none would keep its tokens" if look_at(text) == "cut" else ""
    return (
        chosen,
        f"the text is tokenised by {chosen}, as the model's text was{again or unread or _misfit(chosen, text)}",
    )


def _as_asked(
    tokenizer: Tokenizer | None, dictionary: Dictionary | None, model: Segmentation | None, beginning: Callable[[], str]
) -> tuple[Segmentation, str | None]:
    known = model or Segmentation()
    if dictionary is None and tokenizer == known.tokenizer:
        dictionary = known.dictionary
    chosen = Segmentation(tokenizer, dictionary)
    how = _READ_AS_TOKENISED if tokenizer is None else f"the text is tokenised by {chosen}"
    text = beginning()
    unread = _unread(known, text)
    if known.tokenizer is None or chosen == known:
        misfit = unread or _misfit(chosen, text)
        return chosen, f"{how}{misfit}" if misfit else None
    return chosen, f"{how}{_otherwise(chosen, known)}{unread}"


def _otherwise(chosen: Segmentation, model: Segmentation) -> str:
    """How the model's text was tokenised instead; "" if all that differs is a dictionary that the user added."""
    if chosen.tokenizer == model.tokenizer and model.dictionary is None:
        return ""
    return f", but the model's text was tokenised by {model}"


def _unread(model: Segmentation, text: str) -> str:
    """What is said of text in a language that the model, by its tokeniser, has not read; "" if that does not show."""
    language = next((look for look, tokenizer in FITTING.items() if tokenizer == model.tokenizer), None)
    look = look_at(text)
    if language in (None, "raw", look) or look not in FITTING:
        return ""
    if look == "raw" and language == "english" and language_of(text) == "english":
        return ""  # in the letters of English, which is too little to judge by
    bundled = f", such as {look}-small" if look in ("english", "chinese") else ""
    return (
        f"; it looks like {_named(look)}, but the model has read {str(language).capitalize()}: take a model of its "
        f"language{bundled}"
    )


def in_another_language(sentence: str, model: Segmentation) -> str | None:
    """What to say of a single sentence without one letter of the language that a model has read; None otherwise.

    Example:
        >>> in_another_language("Он ушёл", Segmentation("en"))
        "'Он ушёл' has no letters of English, but the model has read English: take a model of its language"
    """
    expected = {"en": "english", "zh": "chinese"}.get(model.tokenizer or "")
    letters = "".join(character for character in sentence if character.isalpha())
    found = language_of(letters)
    if expected is None or found == expected or any(language_of(letter) == expected for letter in letters):
        return None
    looks = f"looks like {found.capitalize()}" if found else f"has no letters of {expected.capitalize()}"
    bundled = f", such as {found}-small" if found else ""
    return (
        f"{sentence!r} {looks}, but the model has read {expected.capitalize()}: take a model of its language{bundled}"
        if letters
        else None
    )


def _misfit(chosen: Segmentation, text: str) -> str:
    """What is said of text that looks like that of another tokeniser than the chosen one; "" if it does not.

    English and other languages with spaces can be tokenised like each other, and all by characters.
    """
    look = look_at(text)
    fitting = FITTING.get(look)
    if fitting in (None, chosen.tokenizer) or chosen.tokenizer in (None, "char"):
        return ""
    if chosen.tokenizer not in BY_DICTIONARY and fitting not in BY_DICTIONARY:
        return ""
    if chosen.tokenizer == "unicode" and fitting in NEEDED_BY:
        return ""
    return f"; it looks like {_named(look)}, for which --tokenize {fitting} is made"


def _named(look: str) -> str:
    return "raw text of another language" if look == "raw" else f"raw {look.capitalize()}"


def _by_its_look(dictionary: Dictionary | None, beginning: str) -> tuple[Segmentation, str | None]:
    """Decide without a model: by what the text looks like."""
    look = look_at(beginning)
    fitting = FITTING.get(look)
    if dictionary is not None:
        chosen = Segmentation(fitting if fitting in BY_DICTIONARY else "zh", dictionary)
        return chosen, f"the text is tokenised by {chosen}"
    if fitting in NEEDED_BY and not is_installed():
        return Segmentation("unicode"), (
            f"the text looks like {_named(look)} and is tokenised into characters (--tokenize unicode); for words: "
            f"{INSTALL}"
        )
    if fitting is not None:
        what = "raw text" if look == "raw" else _named(look)
        return Segmentation(fitting), f"the text looks like {what} and is tokenised by --tokenize {fitting}"
    return Segmentation(), f"{_READ_AS_TOKENISED}, as it looks so" if look == "cut" else None
