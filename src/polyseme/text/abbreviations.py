"""English abbreviations that end in a period, by what may follow them.

Written without their last period. Abbreviations with periods inside (U.S., p.m.) and initials are recognised by their
form, in `polyseme.text.english` and `polyseme.text.english_sentences`.
"""

_NAMES = (
    "Mr Mrs Ms Messrs Mme Mlle Dr Drs Prof Rev Fr Hon Pres Gov Sen Sens Rep Reps Gen Brig Col Lt Sgt Capt Cmdr Cpl Maj "
    "Adm Pvt Supt Insp St Ste Mt Ft vs Vs cf viz eg ie e.g i.e E.g I.e esp Esp approx Approx ca"
)
_NUMBERS = "No Nos no nos Vol Vols vol vols Ch ch Fig Figs fig figs Sec sec Art Op p pp Eq eq ext Ext para Para"
_OTHERS = (
    "Jr Sr Ave Blvd Rd Sts Hwy Inc INC Corp CORP Ltd LTD Co Cos CO Bros PVT Dept dept Univ Assn Attn Ed Eds etc al est "
    "lb lbs oz ft hr hrs min mins yr yrs pop Ph.D Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec Mon Tue Tues Wed "
    "Thu Thur Thurs Fri Sat Sun Ala Ariz Ark Calif Colo Conn Del Fla Ga Ill Ind Kan Ky La Mass Md Mich Minn Miss Mo "
    "Mont Neb Nev Okla Ont Ore Pa Penn Que Tenn Tex Va Vt Wash Wis Wyo"
)

BEFORE_A_NAME = frozenset(_NAMES.split())
"""Titles and similar words, after which a sentence does not end."""
BEFORE_A_NUMBER = frozenset(_NUMBERS.split())
"""A sentence does not end here if a number follows; before anything else the period ends it, as in "No."."""
ANYWHERE = frozenset(_OTHERS.split())
"""A sentence may continue or end after one; the next word decides."""
