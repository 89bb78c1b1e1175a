import io
import json

from recipes.chinese_readers import classics, dialogue, lines, novel, tagged_characters, tagged_words
from recipes.english_readers import (
    commentary,
    csv_texts,
    gutenberg,
    maven,
    plain,
    rst,
    tatoeba,
    verses,
    wikitext,
    wiktionary,
    wordnet,
)
from recipes.page_readers import docstrings, html_pages, man_pages, markdown
from recipes.readers import Reader
from recipes.record_readers import (
    articles_of_law,
    chat_messages,
    dated_lines,
    game_stories,
    passages,
    pubmed,
    reviews,
    staged_dialogues,
)


def paragraphs(reader: Reader, *contents: str, names: tuple[str, ...] = ("a.txt",) * 9) -> list[str]:
    members = zip(names, (content.encode() for content in contents), strict=False)
    return [part.strip() for document in reader(iter(members)) for part in document.split("\n\n") if part.strip()]


def test_gutenberg_keeps_the_story_alone() -> None:
    book = (
        "Free eBook\n*** START OF THE PROJECT GUTENBERG EBOOK EMMA ***\n[Emma by Jane Austen 1816]\n\nCHAPTER I\n\n"
        "Between _them_ it was\nmore the intimacy\nof sisters.\n\n1:2 And the earth was void. 1:3 And God\nsaid.\n\n"
        "End of Project Gutenberg's Emma\nlicence"
    )
    assert paragraphs(gutenberg, book) == [
        "Between them it was more the intimacy of sisters.",
        "And the earth was void.",
        "And God said.",
    ]


def test_plain_text_is_left_as_it_is() -> None:
    assert paragraphs(plain, "One.\nTwo.") == ["One.\nTwo."]


def test_wikitext_is_put_together_again() -> None:
    text = " = Title = \n \n It 's a role @-@ playing game ( \" Raven \" ) , sold 1 @,@ 000 times . They did n't . \n"
    assert paragraphs(wikitext, text) == ["It's a role-playing game (\"Raven\"), sold 1,000 times. They didn't."]


def test_maven_gives_the_english_side() -> None:
    line = json.dumps({"content": [{"sentence": "Olá.", "sentence_en": "Hello. "}, {"sentence_en": "Bye."}]})
    assert paragraphs(maven, line) == ["Hello.", "Bye."]


def test_tatoeba_gives_each_english_sentence_once() -> None:
    assert paragraphs(tatoeba, "Go.\tVe.\tCC-BY\nGo.\tVete.\tCC-BY\nRun!\tCorre.\tCC-BY") == ["Go.", "Run!"]


def test_bible_and_commentary() -> None:
    assert paragraphs(verses, json.dumps({"verses": {"GEN.1.1": {"order": 1, "text": "In the beginning."}}})) == [
        "In the beginning."
    ]
    note = "<em>Beginning.</em> He arose (Theod.) by his power. H.—Others disagree. C."
    assert paragraphs(commentary, json.dumps({"entries": [{"body": {"en-US": note}}]})) == [
        "Beginning. He arose by his power.",
        "Others disagree.",
    ]


def test_wiktionary_follows_words_with_their_glosses() -> None:
    text = "\n".join(
        [
            "dictionary\t{{en-noun}}\t# by\\ extension Any work that has a list of material.",
            "tabulation\t{{en-noun|~}}\tThe act or process of tabulate,tabulating.",
            "mice\t{{en-noun}}\tplural of mouse, the small animal we know",
            "print-out\t{{en-noun}}\t# printout",
            "tabulation\t{{en-noun}}\t#English,tabulation",
        ]
    )
    assert paragraphs(wiktionary, text) == [
        "dictionary: Any work that has a list of material.",
        "tabulation: The act or process of tabulating.",
    ]


def test_wordnet_gives_definitions_and_examples() -> None:
    text = (
        "  1 This software and database is | licensed\n"
        '00205234 30 v 02 pick_up 2 lose 3 002 $ 1 | be set at a disadvantage by others; "This author suffers"; '
        '"It loses"\n'
        "07392763 11 n 01 bow-wow 0 001 @ 07391221 n 0000 | the bark of a dog  \n"
    )
    assert paragraphs(wordnet, text) == [
        "pick up: be set at a disadvantage by others",
        "This author suffers",
        "It loses",
    ]


def test_csv_gives_its_texts_with_quotes_mended() -> None:
    buffer = io.StringIO()
    buffer.write('id,text\n1,"He said no,""?and left the teachers""?room.    Fine."\n')
    assert paragraphs(csv_texts, buffer.getvalue()) == ["He said no,\" and left the teachers' room.", "Fine."]


def test_rst_gives_prose_without_markup() -> None:
    text = (
        "=====\nTitle\n=====\n\nUse :class:`~a.b.Field` or `the guide <x.html>`_ and ``null``\nwith *care*.\n\n"
        ".. note::\n\n    Indented text.\n\n* an item.\n\nAn example follows::\n\n    code.\n\nA heading\n---------\n"
    )
    assert paragraphs(rst, text) == ["Use a.b.Field or the guide and null with care."]


def test_tagged_chinese_is_put_together_again() -> None:
    assert paragraphs(tagged_characters, "北 B-LOC\n京 I-LOC\n。 O\n\n好 O\n") == ["北京。", "好"]
    assert paragraphs(tagged_words, "１９９８年/t  [中央/n  台/n]nt  报道/v  ，/w\n新/a  世纪/n") == [
        "1998年中央台报道，",
        "新世纪",
    ]


def test_chinese_lines_and_dialogue() -> None:
    assert paragraphs(lines, "很好。\n不好。") == ["很好。", "不好。"]
    assert paragraphs(dialogue, "你 好  \t GOOGLE 更 伟大 =  =\n你 好\tI am fine") == [
        "你好",
        "GOOGLE更伟大",
        "I am fine",
    ]


def test_novels_lose_chapter_headings_and_commentary() -> None:
    chapter = "第一回 宴桃园豪杰三结义\n\n\t话说天下大势，【侧批：好。】分久必合。\n"
    assert paragraphs(novel, json.dumps([chapter]), names=("a.json",)) == ["话说天下大势，分久必合。"]
    assert paragraphs(novel, chapter) == ["话说天下大势，分久必合。"]


def test_classics_are_found_however_deep() -> None:
    works = [
        {"title": "甲", "paragraphs": ["一，", "二。"], "tags": ["宋词"]},
        {"abstract": ["不读"], "content": [{"chapter": "乙", "paragraphs": ["三。"]}]},
        {"content": "四。", "comment": ["不读"]},
    ]
    assert paragraphs(classics, json.dumps(works)) == ["一，二。", "三。", "四。"]


def test_html_gives_paragraphs_that_are_sentences() -> None:
    page = (
        "<h1>Title.</h1><p class='x'>Use <code>ls</code> &amp; wait\n for it.<pre>code.</pre></p><p>A heading</p>"
        "<table><tr><td><p>In a table.</p></td></tr></table><p>Unclosed.<p>Next."
        '<div class="para">\n A <b>bold</b> step.\n</div><p>\u4e00\u884c\n   \u4e24\u884c\u3002</p>'
    )
    assert paragraphs(html_pages, page) == [
        "Use ls & wait for it.",
        "Unclosed.",
        "Next.",
        "A bold step.",
        "一行两行。",
    ]


def test_markdown_gives_prose_alone() -> None:
    text = (
        "# Heading.\n\nSee **the** [guide](x.html) and `ls`\nfor _more_.\n\n> Ten\\. Quoted.\n\n- an item.\n\n"
        "```\ncode.\n```\n\n    indented.\n"
    )
    assert paragraphs(markdown, text) == ["See the guide and ls for more.", "Ten. Quoted."]


def test_manual_pages_lose_commands_and_fonts() -> None:
    page = (
        '.TH LS 1 "2020"\n.SH NAME\nls \\- list files\n.SH DESCRIPTION\nThe\n.B ls\ncommand \\fIlists\\fR\nfiles.\n'
        ".PP\n列出\n文件。\n.TP\n显示版本\n.TP\n列出给定目录里的全部文件，不只是可见的\n.nf\ncode.\n.fi\n"
    )
    assert paragraphs(man_pages, page) == [
        "The ls command lists files.",
        "列出文件。",
        "列出给定目录里的全部文件，不只是可见的",
    ]


def test_docstrings_give_each_sentence_once() -> None:
    code = (
        'class A:\n    r"""查询实例\n    """\n    def __init__(self):\n        r"""\n'
        "        :param _Id: 用来查询实例的那个编号。<br>在列出全部实例时可以为空。\n        :type Id: str\n"
        '        """\n    def id(self):\n        """用来查询实例的那个编号。\n        :rtype: str"""\n'
    )
    assert paragraphs(docstrings, code) == ["用来查询实例的那个编号。", "在列出全部实例时可以为空。"]


def test_reviews_and_chat() -> None:
    assert paragraphs(
        reviews, 'text,label,source\n"Good.<br /><br />Really &amp; truly.",1,imdb\nBad .,0,rotten_tomatoes\n'
    ) == [
        "Good.",
        "Really & truly.",
    ]
    talk = {"a": {"messages": [[{"text": "Hi\nthere.", "sender": "x"}, {"text": "Well?"}], [{"text": "Yes."}]]}}
    assert paragraphs(chat_messages, json.dumps(talk)) == ["Hi there.", "Well?", "Yes."]


def test_passages_are_given_once_and_broken_lines_passed_over() -> None:
    line = json.dumps({"passage": "It was ``good''. CANNOTANSWER", "question": "Was it?"})
    assert paragraphs(passages, f"{line}\n{line}\nno JSON\n") == ['It was "good".']


def test_pubmed_leaves_out_what_is_under_copyright_and_other_languages() -> None:
    def article(text: str, rights: str = "", language: str = "eng") -> str:
        notice = rights and f"<CopyrightInformation>{rights}</CopyrightInformation>"
        return (
            f"<PubmedArticle><Abstract><AbstractText Label='AIM'>{text}</AbstractText>{notice}</Abstract>"
            f"<Language>{language}</Language></PubmedArticle>"
        )

    content = (
        article("Rats &lt; <i>mice</i>.")
        + article("Ours.", "© 2014 Elsevier. All rights reserved.")
        + article("Free.", "This is under a Creative Commons licence.")
        + article("Autre.", language="fre")
        + "<PubmedArticle><Language>eng</Language></PubmedArticle>"
    )
    assert paragraphs(pubmed, content) == ["Rats < mice.", "Free."]


def test_dated_lines_and_game_stories() -> None:
    assert paragraphs(dated_lines, "1789 - A king falls.\n44 BC - Another.\n\n") == ["A king falls.", "Another."]
    data = "mission x\n\tdialog `You land on <planet>.`\n\t\t`He waits.`\n\t\t`Yes`\n"
    assert paragraphs(game_stories, data) == ["He waits."]


def test_laws_are_put_into_simplified_characters() -> None:
    law = (
        "<法規><條文><條號>第 1 條</條號><條文內容><![CDATA[人民有言論\n之自由：\n一、講學。]]></條文內容></條文>"
        "</法規>"
    )
    table = "論\t论\n講\t讲\n學\t学\n"
    names = ("opencc/TSCharacters.txt", "FalV.xml")
    assert paragraphs(articles_of_law, table, law, names=names) == ["人民有言论之自由：\n讲学。"]


def test_of_staged_dialogues_what_is_said_is_kept() -> None:
    play = (
        '"""\nA guest asks.\n"""\n\nsystem:\n旅館。\n\nuser:\n請問幾點？\n\nassistant channel=analysis:\n不讀。\n\n'
        "assistant channel=final:\n三點。\n"
    )
    names = ("opencc/TSCharacters.txt", "a_zh-TW.txt")
    assert paragraphs(staged_dialogues, "請\t请\n問\t问\n幾\t几\n點\t点\n", play, names=names) == [
        "旅館。",
        "请问几点？",
        "三点。",
    ]
