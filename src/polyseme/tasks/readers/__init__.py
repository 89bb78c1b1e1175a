"""Readers of the usual formats of the six tasks, and of a user's own data; `opening.open_examples` is the way in.

What is wrong with a file either ends the reading with one line that names file and line, or is mended, counted and told
(`repairs.DataRepairs`). A repair is for what published data has and every reader copes with; an error is for what most
likely is a mistake, and would train a model on something else than was meant.

==========================================================  ============================================================
what is found                                               what is done
==========================================================  ============================================================
``I-X`` after ``O`` or another type; ``E-X`` likewise       read as ``B-X`` (``S-X``), counted
a tag that is not BIO or BIOES, in the task ``ner``         error
a token without a tag, lines of unlike width, no column     error
a label that only the test data has                         read as it is: the model says what it does with it
SNLI's label ``-``                                          left out, counted
a text, pair or question without a token                    left out, counted
a document without a token                                  left out, counted
a document with underscores for all its words               left out, counted
a token without a character, in columns                     read as U+FFFD, counted
a document without marked sentences                         cut after ``. ! ?``, counted
an argument still open at the end of its sentence           ended there, counted
an argument that ends without a beginning                   error
a mention with one border only                              left out, counted
a mention marked twice in a cluster                         read once, counted
a mention in two clusters                                   kept in the first, counted
an answer whose text is elsewhere in the passage            moved to the nearest such place, counted
an answer whose text is not in the passage                  left out, counted; its question too if no other is left
an answer that begins or ends inside a token                kept, counted: training takes the tokens it touches
a tree of SST with unlike brackets, or a class beyond 4     error
bytes that are not UTF-8, NULs                              replaced by U+FFFD, counted; error if most of it is not text
a damaged or truncated .gz                                  error
a number of columns, predicates or heads that cannot be     error
==========================================================  ============================================================
"""
