import pytest

from polyseme.text.english import english_words


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Don't, can't, won't, shouldn't've", "Do n't , ca n't , wo n't , should n't 've"),
        ("CAN'T Ain’t don’t; it’s over", "CA N'T Ai n’t do n’t ; it ’s over"),
        ("I'm sure she's he'd they'll you've we're", "I 'm sure she 's he 'd they 'll you 've we 're"),
        ("the dogs' tails, James's, the 80's, '90s, 'em", "the dogs ' tails , James 's , the 80's , '90s , 'em"),
        ("You cannot, I'm gonna, wanna, gotta; 'Twas", "You can not , I 'm gon na , wan na , got ta ; 'T was"),
        ("O'Brien's o'clock, rock'n'roll, y'all've", "O'Brien 's o'clock , rock'n'roll , y'all 've"),
        ("Mr. and Dr. J. R. Smith vs. St. Mary, No. 5", "Mr. and Dr. J. R. Smith vs. St. Mary , No. 5"),
        ("the U.S., U.K.-based, e.g. Apple Inc. (i.e. it)", "the U.S. , U.K.-based , e.g. Apple Inc. ( i.e. it )"),
        ("(He came at 5 p.m.)", "( He came at 5 p.m . )"),
        ('She lives in the "U.S."', 'She lives in the " U.S . "'),
        ("Plan A. So do I.", "Plan A. So do I ."),
        ("$1,000.50, €5m, US$3, 50%", "$ 1,000.50 , € 5m , US$ 3 , 50 %"),
        ("-3.2, .5, 3-4, 1st, 10:30, 9/11, 2004-05-06", "-3.2 , .5 , 3-4 , 1st , 10:30 , 9/11 , 2004-05-06"),
        ("3.5-inch well-known 1,000-seat AT&T w/o and/or", "3.5-inch well-known 1,000-seat AT&T w/o and / or"),
        ("node.js foo_bar file.txt end.Then", "node.js foo_bar file.txt end . Then"),
        ("wait...what?! No!!! Yes… so", "wait ... what ?! No !!! Yes … so"),
        ("one--two—three -- four", "one -- two — three -- four"),
        ("_very_ ***** ====", "_ very _ ***** ===="),
        ("``quoted'' 'single' \"straight\"", "`` quoted '' ' single ' \" straight \""),
        ("“curly” ‘single’ [1] {x}", "“ curly ” ‘ single ’ [ 1 ] { x }"),
        ("(http://x.org/a?q=1&r=2), www.foo.com/b; a.com!", "( http://x.org/a?q=1&r=2 ) , www.foo.com/b ; a.com !"),
        ("a.b+c@d-e.co.uk, @someone or #hashtag", "a.b+c@d-e.co.uk , @someone or #hashtag"),
        ("fun:) ;-) :-( :D <3 list: (a)", "fun :) ;-) :-( :D <3 list : ( a )"),
        ("☕️👩🏽‍🚀🇨🇭👍🏿ok", "☕️ 👩🏽‍🚀 🇨🇭 👍🏿 ok"),
        (
            "naïve nai\u0308ve हिन्दी می\u200cخواهم co\u00adoperate",
            "naïve nai\u0308ve हिन्दी می\u200cخواهم co\u00adoperate",
        ),
        ("He 's here , is n't he ?", "He 's here , is n't he ?"),
        ("state @-@ of -LRB- don 't and\\/or -RRB-", "state @-@ of -LRB- don 't and \\/ or -RRB-"),
        ("what...? No?... Why?! etc.. so, Inc...", "what ... ? No ? ... Why ?! etc. . so , Inc ..."),
        (
            "in Va. and Calif., Hamdan v. Rumsfeld, INC. at ext. 5",
            "in Va. and Calif. , Hamdan v. Rumsfeld , INC. at ext. 5",
        ),
        ("Dr.Michael of S.Korea, J.K.Rowling, P.O.Box", "Dr. Michael of S. Korea , J.K. Rowling , P.O. Box"),
        (".NET and .com, file.doc; mailto:a@b.org", ".NET and .com , file.doc ; mailto:a@b.org"),
        ("w/out w/friends w/o rock 'n' roll, ol' cup o' tea", "w/out w/ friends w/o rock 'n' roll , ol' cup o' tea"),
        ("a -> b <= c, x ==> y ^_^ -_-", "a -> b <= c , x ==> y ^_^ -_-"),
        ("Stop.\xa0Go\u3000on", "Stop . Go on"),
        (" \t\u3000 ", ""),
    ],
)
def test_tokens(sentence: str, expected: str) -> None:
    assert english_words(sentence) == expected.split()


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "a.",
        "a.B",
        "1,",
        "a-",
        "a's",
        "n't",
        "a@",
        "a+",
        "w/",
        "://",
        ":(",
        "😀\u200d",
        "🇨",
        "->",
        "<=",
        "o'",
        ".a",
        "^_",
        "-_",
    ],
)
@pytest.mark.timeout(5)
def test_a_long_stretch_takes_no_more_than_moments(piece: str) -> None:
    stretch = piece * (4096 // len(piece))
    assert "".join(english_words(stretch)) == stretch
