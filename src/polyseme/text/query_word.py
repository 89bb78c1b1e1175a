"""Why is a word that somebody asks for never a token?"""

from polyseme.text.choices import BY_DICTIONARY
from polyseme.text.segmentation import Segmentation


def cut_apart(word: str, cut: Segmentation, when: str = "") -> str | None:
    """One line on how a tokeniser cuts a word into several tokens, and what to do; None if it is one token.

    Args:
        word: As somebody asks for it.
        cut: How the text was tokenised.
        when: When a dictionary can be given, if not now: ``"when the text is indexed"``.

    Example:
        >>> print(cut_apart("杨过", Segmentation("zh")))
        '杨过' is cut into 杨 + 过; add it to a dictionary (polyseme words proposes one), given by --dictionary
        >>> cut_apart("银行", Segmentation("zh"))
    """
    tokens = [token for sentence in cut.sentences(word) for token in sentence]
    if len(tokens) < 2:
        return None
    pieces = f"{word!r} is cut into {' + '.join(tokens)}"
    if cut.tokenizer in BY_DICTIONARY:
        advice = f"{pieces}; add it to a dictionary (polyseme words proposes one), given by --dictionary"
        return f"{advice} {when}".rstrip()
    return f"{pieces}; ask for one of them"
