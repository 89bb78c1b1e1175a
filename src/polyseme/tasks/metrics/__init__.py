"""How good predictions are: the measures of the six tasks, equal to those of the official scorers.

============================  =========================================================================================
`spans.span_f1`               entities in BIO or BIOES, as the CoNLL-2003 script and seqeval count them
`accuracy.accuracy`           one label a text or a pair; `accuracy.tag_accuracy` for one label a token
`answers.answer_f1`           exact match and F1 of SQuAD 1.1
`roles.role_f1`               arguments of predicates, as the CoNLL-2005 evaluation counts them
`coreference.coreference_f1`  the mean of MUC, B-cubed and CEAF-e, as the CoNLL reference scorer computes them
============================  =========================================================================================

Each returns a `score.Score`; `bootstrap.paired_bootstrap` tells whether two of them differ by more than chance. All
figures are in percent and not rounded.
"""
