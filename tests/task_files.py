"""Tiny files of every format, as their authors write them."""

CONLL = """-DOCSTART- -X- -X- O

EU NNP B-NP B-ORG
rejects VBZ B-VP O
German JJ B-NP B-MISC

# NN B-NP O
Peter NNP B-NP B-PER
Blackburn NNP I-NP I-PER
"""
WIKIANN = "en:The\tO\nen::\tO\nen:Bahn\tB-ORG\n\nen:St.\tB-LOC\nen:Ives\tI-LOC\n\n"
CONLLU = """# sent_id = 1
# text = She can't
1\tShe\tshe\tPRON\tPRP\tCase=Nom|Number=Sing\t2\tnsubj\t_\t_
2-3\tcan't\t_\t_\t_\t_\t_\t_\t_\t_
2\tca\tcan\tAUX\tMD\t_\t0\troot\t_\tSpaceAfter=No
3\tn't\tnot\tPART\tRB\t_\t2\tadvmod\t_\t_
3.1\t_\tgo\tVERB\t_\t_\t_\t_\t_\t_

1\tBanks\tbank\tNOUN\tNNS\tNumber=Plur\t0\troot\t_\t_

"""
SST = "(3 (2 It) (4 (2 's) (4 (3 fun) (2 -LRB-))))\n(2 (2 A) (2 film\\/book))\n(0 (1 Not) (1 good))\n"
SNLI = """{"gold_label": "entailment", "sentence1": "A man sleeps, and the dog barks.", "sentence2": "He isn't awake."}
{"gold_label": "-", "sentence1": "A man.", "sentence2": "A dog."}
{"gold_label": "neutral", "sentence1": "It was the dog.", "sentence2": "It was the cat, or the dog."}
"""
SICK = (
    "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\r\n"
    "1\tA dog isn't running\tA cat runs\t3.1\tNEUTRAL\r\n4\tA boy\tA child\t4.9\tENTAILMENT\r\n"
)
SQUAD = """{"version": "1.1", "data": [{"title": "T", "paragraphs": [{"context":
"The Denver Broncos won, and the game was in Santa Clara.", "qas": [
{"id": "q1", "question": "Who won?", "answers": [{"answer_start": 4, "text": "Denver Broncos"}]},
{"id": "q2", "question": "Where?", "answers": [{"answer_start": 40, "text": "Santa Clara"}]},
{"id": "q3", "question": "Which?", "answers": [{"answer_start": 4, "text": "Denv"}]},
{"id": "q4", "question": "When?", "answers": [{"answer_start": 4, "text": "in 2016"}]}]}]}]}
"""
CONLL2012 = """#begin document (bc/cctv/00/cctv_0001); part 000
bc/cctv/00 0 0 John NNP (TOP(S(NP*) - - - Sp#1 (PERSON) (ARG0*) * (12)
bc/cctv/00 0 1 wants VBZ (VP* want 01 1 Sp#1 * (V*) * -
bc/cctv/00 0 2 to TO (S* - - - Sp#1 * (ARG1* * -
bc/cctv/00 0 3 see VB (VP* see 01 1 Sp#1 * * (V*) -
bc/cctv/00 0 4 his PRP$ (NP* - - - Sp#1 * * (ARG1* (3|(12)
bc/cctv/00 0 5 dog NN *))))) - - - Sp#1 * *) *) 3)

bc/cctv/00 0 0 It PRP (TOP(S(NP*) - - - Sp#1 * (3)
bc/cctv/00 0 1 ! . *)) - - - Sp#1 * -

#end document
#begin document (bc/cctv/00/cctv_0001); part 001
#end document
"""
UP = """# text = The old dog that barked saw a cat.
1\tThe\tthe\tDET\tDT\t_\t3\tdet\t_\t_\t_\t_\t_
2\told\told\tADJ\tJJ\t_\t3\tamod\t_\t_\t_\t_\t_
3\tdog\tdog\tNOUN\tNN\t_\t6\tnsubj\t_\t_\t_\tARG0\tARG0
4\tthat\tthat\tPRON\tWDT\t_\t5\tnsubj\t_\t_\t_\tR-ARG0\t_
5\tbarked\tbark\tVERB\tVBD\t_\t3\tacl\t_\t_\tbark.01\tV\t_
6\tsaw\tsee\tVERB\tVBD\t_\t0\troot\t_\t_\tsee.01\t_\tV
7\ta\ta\tDET\tDT\t_\t8\tdet\t_\t_\t_\t_\t_
8\tcat\tcat\tNOUN\tNN\t_\t6\tobj\t_\t_\t_\t_\tARG1

# propbank = no-up
1\tNo\tno\tDET\tDT\t_\t2\tdet\t_\t_=\t\t
2\tverb\tverb\tNOUN\tNN\t_\t0\troot\t_\t_=\t\t

"""
COREF = """# begin document first
0\tAnn\t(1)
1\tsaw\t_
2\tBen\t(2(3
3\tLee\t3)
4\t.\t_
5\tHe\t2)(1)
6\twaved\t_
7\t.\t(3)
# end document

# begin document hidden
0\t___\t(1)
1\t__\t(1)
# end document
"""
CSV = 'id,review,stars\n1,"Good, and ""new"".\nIt was the best of them, by far.",5\n2,,1\n3,"Bad, and the worst.",1\n'
TSV = 'text\tlabel\n"Well, said the cat.\tpos\nIt was the end, sadly.\tneg\n'
