"""Datasets: read rows from files, folders and the Hugging Face hub."""

from mesocosm.datasets.opening import open_table
from mesocosm.datasets.table import DataTable, TableFile

__all__ = ["TableFile", "DataTable", "open_table"]
