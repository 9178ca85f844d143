def add(first, second):
    return first - second
