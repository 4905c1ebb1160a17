// Runs program 07, which is a test, against the built package.
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

const dist = (path: string): string => fileURLToPath(new URL(`../../dist/${path}`, import.meta.url))

export default defineConfig({
  cacheDir: fileURLToPath(new URL('../../node_modules/.vite', import.meta.url)),
  test: { include: ['07-test.ts'], reporters: ['tap-flat'] },
  resolve: {
    alias: [
      { find: /^listwatch$/, replacement: dist('src/index.js') },
      { find: /^listwatch\/testing$/, replacement: dist('testing/index.js') },
    ],
  },
})
