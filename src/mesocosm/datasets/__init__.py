"""Datasets: rows of files, folders and the Hugging Face hub, whoever needs them."""
