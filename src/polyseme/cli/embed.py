"""``polyseme embed``: text in, a file of vectors out."""

from pathlib import Path
from typing import Annotated

import typer

from polyseme.cli.arguments import (
    DeviceOption,
    DictionaryOption,
    FormatOption,
    JsonFlag,
    ModelOption,
    OptionsFile,
    PrecisionOption,
    ProgressOption,
    TextArgument,
    TokenizeOption,
    VectorsFile,
    VocabularyFile,
    check_outside,
    follow_model,
    model_path,
    open_corpus,
    print_repairs,
    read_dictionary,
)
from polyseme.cli.progress import shown
from polyseme.cli.scale_options import (
    ActorsOption,
    AddressOption,
    EngineOption,
    PartBytesOption,
    ThreadsOption,
    refuse_with_ray,
    scale_settings,
)
from polyseme.cli.tables import print_json
from polyseme.embed.choices import Keys, NumberType, Pool
from polyseme.errors import InputError
from polyseme.scale.settings import ScaleSettings


def embed(
    text: TextArgument,
    model: ModelOption,
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            help="What to write: .npz, .h5 or .parquet; with --engine ray a folder, which may be an address (s3://...).",
            show_default=False,
        ),
    ],
    layers: Annotated[
        str | None,
        typer.Option(
            help="all, mean, top or the number of a layer. [default: all; mean with --pool]", show_default=False
        ),
    ] = None,
    pool: Annotated[
        Pool | None,
        typer.Option(help="One vector per sentence, the mean or maximum over its tokens, instead of one per token."),
    ] = None,
    tokenize: TokenizeOption = "auto",
    dictionary: DictionaryOption = None,
    reader: FormatOption = "auto",
    dtype: Annotated[NumberType, typer.Option(help="The numbers in the file.")] = "float32",
    resume: Annotated[bool, typer.Option("--resume", help="Continue where an interrupted run stopped.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the output file if it exists.")] = False,
    sentence_index: Annotated[
        bool, typer.Option(help="In .h5, store which sentence has which number (sentence_to_index).")
    ] = True,
    keys: Annotated[
        Keys,
        typer.Option(
            help="In .npz and .h5, call arrays by the number of their sentence or by its name, such as a FASTA "
            "identifier; auto is by name for FASTA. In .parquet both are columns."
        ),
    ] = "auto",
    stateful: Annotated[
        bool, typer.Option("--stateful", help="Carry state from batch to batch, as the original software did.")
    ] = False,
    batch_size: Annotated[int, typer.Option(min=1, help="Sentences per batch if stateful.")] = 64,
    batch_tokens: Annotated[int, typer.Option(min=1, help="Tokens per batch otherwise.")] = 8192,
    precision: PrecisionOption = "float32",
    device: DeviceOption = "cpu",
    options: OptionsFile = None,
    vectors: VectorsFile = None,
    vocabulary: VocabularyFile = None,
    engine: EngineOption = "local",
    address: AddressOption = None,
    actors: ActorsOption = None,
    threads: ThreadsOption = None,
    part_bytes: PartBytesOption = None,
    progress: ProgressOption = "auto",
    as_json: JsonFlag = False,
) -> None:
    """Embed text: write the vectors of every token, or one vector per sentence, into a file.

    The input is raw text, text that is tokenised already (--tokenize none), CoNLL-U, JSON lines, FASTA, TEI or VRT,
    each also as .gz. Memory does not grow with the input. Work is stored at least every minute and when the run is
    stopped by Ctrl-C or SIGTERM; --resume continues it.

    Example: polyseme embed novel.txt -m english-small -o novel.parquet --layers mean
    """
    from polyseme.embed.job import embed_corpus
    from polyseme.embed.layers import parse_choice
    from polyseme.embed.load import load
    from polyseme.files.location import is_address

    spread = scale_settings(engine, address, actors, threads, part_bytes)
    if str(output) == "-":
        raise InputError("vectors are not written to standard output; name a .npz, .h5 or .parquet file with -o")
    if not is_address(output):
        check_outside(Path(output), text)
    corpus = open_corpus(text, reader, tokenize, dictionary) if spread is None else None
    choice = None if layers is None else parse_choice(layers)
    embedder = load(
        model_path(model, options, vectors),
        vocabulary=vocabulary,
        precision=precision,
        stateful=stateful,
        device=device,
        batch_size=batch_size,
        batch_tokens=batch_tokens,
    )
    if corpus is None:
        from polyseme.scale import EmbedJob

        refuse_with_ray(overwrite=overwrite, keys=keys != "auto", no_sentence_index=not sentence_index)
        with shown(progress) as watcher:
            made = EmbedJob(
                source=embedder,
                sources=text,
                output=output,
                layers=choice,
                pool=pool,
                dtype=dtype,
                reader=reader,
                tokenize=tokenize,
                dictionary=read_dictionary(dictionary),
                settings=spread or ScaleSettings(),
            ).run(resume=resume, watcher=watcher)
        result, repairs = made.to_dict(), made.repairs
    else:
        follow_model(embedder.segmentation, corpus)
        with shown(progress) as watcher:
            done = embed_corpus(
                embedder,
                corpus,
                output,
                layers=choice,
                pool=pool,
                dtype=dtype,
                resume=resume,
                overwrite=overwrite,
                sentence_index=sentence_index,
                keys=keys,
                watcher=watcher,
            )
        result, repairs = done.to_dict(), corpus.repairs
    print_repairs(str(corpus or text[0]), repairs)
    if as_json:
        print_json("embed", result)
