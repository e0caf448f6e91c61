"""The table of public data sets."""

import re

import pytest

from saccade.errors import UserError
from saccade.public_data.download import check_web_address
from saccade.public_data.table import PUBLIC_SETS, find_set

NAMES = [name for name in PUBLIC_SETS if name != "opus"] + ["opus:Books/v1/en-fr", "scan:jump", "multi30k:de-fr"]


@pytest.mark.parametrize("name", NAMES)
def test_every_data_set_is_complete(name: str) -> None:
    chosen = find_set(name)
    assert chosen.source and chosen.licence and chosen.citation and "train" in chosen.parts
    assert re.fullmatch(r"[\w.-]+", chosen.folder) and find_set(chosen.name).folder == chosen.folder
    for original in chosen.originals:
        check_web_address(original.url, name)
        assert original.url.startswith("https://") and original.most > 0
        assert original.sha256 is None or re.fullmatch("[0-9a-f]{64}", original.sha256)
        assert (original.sha256 is None) == (original.size is None)
    assert not chosen.hold_out or "dev" not in chosen.parts


def test_the_languages_of_opus_are_in_alphabetical_order_and_the_pair_as_typed() -> None:
    chosen = find_set("tatoeba", pair="deu-eng")
    (original,) = chosen.originals
    assert original.url.endswith("/OPUS-Tatoeba/v2023-04-12/moses/de-en.txt.zip")
    assert [file.member for file in chosen.text_files] == ["Tatoeba.de-en.de", "Tatoeba.de-en.en"]
    chosen = find_set("opus:Books/v1/fr-en")
    assert [file.member for file in chosen.text_files] == ["Books.en-fr.fr", "Books.en-fr.en"]
    assert chosen.layout.names("train") == ("train.fr", "train.en")
    assert find_set("tatoeba:cmn-eng").originals[0].url.endswith("/cmn-en.txt.zip")


@pytest.mark.parametrize(
    ("name", "pair", "message"),
    [
        ("mutli30k", None, "there is no data set 'mutli30k'; did you mean 'multi30k'?"),
        ("zzz", None, "there are cmudict, iwslt14, multi30k, opus, scan, tatoeba, wmt14"),
        ("multi30k", "en-xx", "expected two of en, de, fr, cs, such as en-fr"),
        ("multi30k", "en-en", "the pair is 'en-en'; expected two different languages, such as en-de"),
        ("multi30k:en-de", "en-fr", "the pair is given twice; leave --pair out"),
        ("multi30k:", None, "nothing after the colon; write multi30k, or multi30k:CHOICE"),
        ("tatoeba", "../../x", "expected two different languages"),
        ("tatoeba", "german", "expected two different languages"),
        ("wmt14:en-fr", None, "wmt14:en-fr: expected de-en or en-de"),
        ("iwslt14:en-fr", None, "expected de-en or en-de"),
        ("opus", None, "expected opus:CORPUS/VERSION/PAIR, such as opus:Books/v1/en-fr"),
        ("opus:../v1/en-fr", None, "expected opus:CORPUS/VERSION/PAIR"),
        ("opus:Books/v1/en-fr/x", None, "expected opus:CORPUS/VERSION/PAIR"),
        ("opus:Books/v1/x", None, "expected two different languages"),
        ("opus:Books/v1", "en-fr", "opus has the pair in its name; write opus:CORPUS/VERSION/en-fr"),
        ("scan:lenght", None, "there is no such split; did you mean 'length'?"),
        ("scan", "en-de", "scan is not about two languages; leave --pair out"),
        ("cmudict:x", None, "cmudict has no choices; write cmudict"),
    ],
)
def test_a_mistyped_name_is_explained(name: str, pair: str | None, message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        find_set(name, pair)
