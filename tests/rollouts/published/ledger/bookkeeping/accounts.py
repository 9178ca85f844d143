# mypy: ignore-errors
# ruff: noqa: ANN001, ANN201, ANN204
"""Accounts with balances."""


class Ledger:
    def __init__(self, balances):
        self.balances = dict(balances)
        self.entries = []

    def balance(self, account):
        if account not in self.balances:
            return f"error: no account {account}"
        return str(self.balances[account])

    def transfer(self, source, target, amount):
        if self.balances.get(source, 0) < amount:
            return "error: not enough"
        self.balances[source] -= amount
        self.balances[target] = self.balances.get(target, 0) + amount
        self.entries.append((source, target, amount))
        return "done"
