import react from '@vitejs/plugin-react'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  plugins: [react()],
  test: { environment: 'jsdom', css: true, include: ['src/**/*.test.{ts,tsx}'], setupFiles: ['src/setup.test-env.ts'] },
})
