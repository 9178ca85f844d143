"""Everything that exists for programs and files of others; README.md says what each part serves and costs."""
