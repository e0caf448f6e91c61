from saccade.decode.deferred import DeferredNumbers


def test_numbers_are_computed_when_they_are_first_read_and_once() -> None:
    calls = []

    def compute() -> list[float]:
        calls.append(1)
        return [-1.0, -2.0, -3.0]

    numbers = DeferredNumbers(3, compute)
    assert len(numbers) == 3 and bool(numbers) and not calls
    assert list(numbers) == [-1.0, -2.0, -3.0] and numbers[-1] == -3.0 and numbers[:2] == (-1.0, -2.0)
    assert len(calls) == 1


def test_they_compare_like_a_tuple() -> None:
    numbers = DeferredNumbers(2, lambda: [1.0, 2.0])
    assert numbers == (1.0, 2.0) and numbers != (1.0, 3.0)
    assert numbers == DeferredNumbers(2, lambda: [1.0, 2.0])
    assert hash(numbers) == hash((1.0, 2.0)) and repr(numbers) == "(1.0, 2.0)"
