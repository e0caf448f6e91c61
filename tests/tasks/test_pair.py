from saccade.tasks import Sense

SENSE = Sense(
    word="mole",
    name="body",
    source=1,
    target=(1, 2, 3),
    forms={"animals": ("taupe", "taupes"), "body": ("grain de beauté", "grains de beauté")},
    distance=3,
    cue="bones",
)


def test_sense_reads_the_chosen_sense() -> None:
    assert SENSE.read("il voit le grain de beauté.") == "body"
    assert SENSE.read("il voit les taupes.") == "animals"


def test_sense_reads_none_from_neither_or_both() -> None:
    assert SENSE.read("il voit le chien.") is None
    assert SENSE.read("la taupe et le grain de beauté") is None
    assert SENSE.read("une taupette") is None


def test_sense_reads_chinese_by_character() -> None:
    sense = Sense(
        word="bank",
        name="finance",
        source=0,
        target=(0, 1),
        forms={"finance": ("银行",), "water": ("河岸",)},
        distance=1,
        cue="x",
    )
    assert sense.read("我看见了银行。") == "finance"
    assert sense.read("我看见了河岸。") == "water"
