"""The readers by name."""

from collections.abc import Callable, Iterator

from recipes import chinese_readers, english_readers, page_readers, record_readers
from recipes.archive import Members

Reader = Callable[[Members], Iterator[str]]
READERS: dict[str, Reader] = {
    reader.__name__: reader
    for reader in (
        english_readers.commentary,
        english_readers.csv_texts,
        english_readers.gutenberg,
        english_readers.maven,
        english_readers.plain,
        english_readers.rst,
        english_readers.tatoeba,
        english_readers.verses,
        english_readers.wikitext,
        english_readers.wiktionary,
        english_readers.wordnet,
        chinese_readers.classics,
        chinese_readers.dialogue,
        chinese_readers.lines,
        chinese_readers.novel,
        chinese_readers.tagged_characters,
        chinese_readers.tagged_words,
        page_readers.docstrings,
        page_readers.html_pages,
        page_readers.man_pages,
        page_readers.markdown,
        record_readers.articles_of_law,
        record_readers.chat_messages,
        record_readers.dated_lines,
        record_readers.game_stories,
        record_readers.passages,
        record_readers.pubmed,
        record_readers.reviews,
        record_readers.staged_dialogues,
    )
}
