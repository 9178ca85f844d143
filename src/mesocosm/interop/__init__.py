"""Import and export: replay JSON for showcases, lossless bundles, samples and downloads."""
