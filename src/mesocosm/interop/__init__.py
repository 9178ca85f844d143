"""Import and export: replay JSON for showcases, bundles that lose nothing."""
