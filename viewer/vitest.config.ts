import react from '@vitejs/plugin-react'
import { defineConfig } from 'vitest/config'

// Files share their worker, so tests leave no globals behind.
const shared = { pool: 'threads', isolate: false, css: true } as const

export default defineConfig({
  plugins: [react()],
  test: {
    projects: [
      // A DOM takes long to make: only tests in .tsx files have one.
      { extends: true, test: { ...shared, name: 'logic', environment: 'node', include: ['src/**/*.test.ts'] } },
      {
        extends: true,
        test: {
          ...shared,
          name: 'components',
          environment: 'jsdom',
          include: ['src/**/*.test.tsx'],
          // A guard against tests that hang, not a measure: it must hold on a machine that does much else.
          testTimeout: 60_000,
          setupFiles: ['src/setup.test-env.ts'],
        },
      },
    ],
  },
})
