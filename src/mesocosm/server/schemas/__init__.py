"""What the API answers: one module for each noun. The OpenAPI document and the web app's types are made from these."""
