"""Datasets: rows of files, folders and the Hugging Face hub, whoever needs them."""

from mesocosm.datasets.opening import open_table
from mesocosm.datasets.table import DataTable, TableFile

__all__ = ["TableFile", "DataTable", "open_table"]
