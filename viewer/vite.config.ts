import react from '@vitejs/plugin-react'
import { defineConfig, type Plugin } from 'vite'

/** Licences under which packages may be part of the app: all of them only ask for their text to be passed on. */
const LICENCES = ['0BSD', 'Apache-2.0', 'BSD-2-Clause', 'BSD-3-Clause', 'ISC', 'MIT']
const LISTED = 'licences.json'

/** Turns Vite's list of what is in the bundle into a page of text. Fails for a licence that was not looked at. */
function licences(): Plugin {
  return {
    name: 'licences',
    enforce: 'post',
    generateBundle: {
      order: 'post',
      handler(_, bundle) {
        const listed = bundle[LISTED]
        if (listed?.type !== 'asset') throw new Error('Vite listed no licences')
        const packages: { name: string; version: string; identifier?: string; text?: string }[] = JSON.parse(
          String(listed.source),
        )
        for (const { name, identifier, text } of packages) {
          if (!LICENCES.includes(identifier ?? '')) {
            throw new Error(`${name} has the licence ${identifier ?? '(none)'}: read it, then add it to vite.config.ts`)
          }
          if (!text) throw new Error(`${name} comes without the text of its licence`)
        }
        const parts = packages.map(
          ({ name, version, identifier, text }) => `${name} ${version} (${identifier})\n\n${text}\n`,
        )
        const source = `The web app of mesocosm contains these packages.\n\n${parts.join(`\n${'-'.repeat(80)}\n\n`)}`
        delete bundle[LISTED]
        this.emitFile({ type: 'asset', fileName: 'licences.txt', source })
      },
    },
  }
}

export default defineConfig({
  base: './',
  plugins: [react(), licences()],
  logLevel: 'warn',
  build: {
    outDir: '../src/mesocosm/viewer',
    emptyOutDir: true,
    license: { fileName: LISTED },
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
