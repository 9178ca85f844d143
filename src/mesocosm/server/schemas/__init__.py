"""Documents of the API, one module per resource; source of the OpenAPI document and the web app's types."""
