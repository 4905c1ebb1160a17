import type { AdapterMutant } from './adapter-mutant.js'

const at = (file: string): string => `../adapters/file-cache/${file}.ts`

export const fileCacheMutants: readonly AdapterMutant[] = [
  {
    name: 'a save that was given up replaces the file',
    breaks: 'A save that was given up never replaces the file later.',
    file: at('files'),
    edits: [['      signal.throwIfAborted()\n', '']],
    test: 'file-cache/file.test.ts',
    named: 'does not replace the file if the signal aborts while the disk stores it',
  },
  {
    name: 'a save that was given up leaves its temporary file',
    breaks: 'A save that fails leaves nothing behind.',
    file: at('files'),
    edits: [['      await rm(temporary, { force: true }).catch(() => {})\n', '']],
    test: 'file-cache/file.test.ts',
    named: 'does not replace the file if the signal aborts while the disk stores it',
  },
]
