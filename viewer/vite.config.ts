import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

export default defineConfig({
  base: './',
  plugins: [react()],
  logLevel: 'warn',
  build: {
    outDir: '../src/mesocosm/viewer',
    emptyOutDir: true,
    target: ['chrome123', 'firefox127', 'safari17.5'],
    // The polyfill would be an inline script, which the content security policy forbids.
    modulePreload: { polyfill: false },
    // Everything is a file of its own: a data address in a style sheet would need a wider policy.
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 400,
    reportCompressedSize: false,
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            { name: 'react', test: /node_modules[\\/](react|react-dom|scheduler)[\\/]/ },
            { name: 'tanstack', test: /node_modules[\\/]@tanstack[\\/]/ },
            { name: 'd3', test: /node_modules[\\/]d3-/ },
          ],
        },
      },
    },
  },
  server: { proxy: { '/api': 'http://127.0.0.1:8877' } },
})
