"""Datasets: rows of files, folders and the Hugging Face hub, whoever needs them."""

from mesocosm.datasets.opening import open_table
from mesocosm.datasets.table import Part, Table

__all__ = ["Part", "Table", "open_table"]
