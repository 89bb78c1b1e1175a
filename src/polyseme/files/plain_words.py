"""What libraries that check values say, in the words of people."""

import re

_PLAIN = {
    r"\ba valid dictionary\b": "an object",
    r"\ba valid list\b": "a list",
    r"\ba valid tuple\b": "a list",
    r"\ba valid string\b": "text",
    r"\ba valid integer\b": "a whole number",
    r"\ba valid number\b": "a number",
    r"\ba valid boolean\b": "true or false",
    r"\ba finite number\b": "a number, not infinite",
    r"\bgreater than or equal to\b": "at least",
    r"\bless than or equal to\b": "at most",
    r"\bgreater than\b": "more than",
    r"^(Tuple|List) should\b": "list should",
    r"\bInput should\b": "should",
}


def in_plain_words(message: str) -> str:
    """A message without pydantic's wording.

    Example:
        >>> in_plain_words("Input should be greater than or equal to 1")
        'should be at least 1'
    """
    message = message.replace("Value error, ", "").partition(", unable")[0]
    for theirs, ours in _PLAIN.items():
        message = re.sub(theirs, ours, message)
    return message
