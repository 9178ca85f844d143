def add(first: int, second: int) -> int:
    return first - second
