"""Columns of a terminal, of which a Chinese character takes two."""


def padded(text: str, width: int) -> str:
    """Text filled up with spaces to so many columns; a longer one gets one space.

    Example:
        >>> [padded(word, 7) for word in ("曹操", "play", "overflow")]
        ['曹操   ', 'play   ', 'overflow ']
    """
    from rich.cells import cell_len

    return text + " " * max(1, width - cell_len(text))
