import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isRunning } from '../../tools/postgres/platform.js'
import { filesUnder, PRODUCT, root } from './sources.js'

const INPUTS = ['package.json', 'scripts/bundle.mjs', 'tsconfig.json', 'tsconfig.build.json']
const FOLDERS = [...PRODUCT, 'tools']
const BUILT = join(root, 'dist/src/index.js')

/** The tools of the package, as npm scripts find them. */
export function binary(name: string): string {
  return join(root, 'node_modules/.bin', name)
}

/** Builds `dist` unless it is what the sources give; one at a time, however many test files ask. */
export async function ensureBuilt(): Promise<void> {
  const name = `listwatch-build-${createHash('sha256').update(root).digest('hex').slice(0, 12)}`
  const [lock, stamp] = [join(tmpdir(), `${name}.pid`), join(tmpdir(), `${name}.stamp`)]
  await acquire(lock)
  try {
    const print = fingerprint()
    if (read(stamp) === `${print} ${builtAt()}`) return
    for (const [command, ...args] of [
      [process.execPath, 'scripts/clean.mjs'],
      [binary('tsc'), '-p', 'tsconfig.build.json'],
      [process.execPath, 'scripts/bundle.mjs'],
    ] as const) {
      const { status, stdout, stderr } = spawnSync(command, args, { cwd: root, encoding: 'utf8' })
      if (status !== 0) throw new Error(`the package does not build:\n${stdout}${stderr}`)
    }
    writeFileSync(stamp, `${print} ${builtAt()}`)
  } finally {
    rmSync(lock)
  }
}

function fingerprint(): string {
  const hash = createHash('sha256')
  for (const path of [...INPUTS, ...filesUnder(FOLDERS, '')]) {
    const { mtimeMs, size } = statSync(join(root, path))
    hash.update(`${path} ${mtimeMs} ${size}\n`)
  }
  return hash.digest('hex')
}

function builtAt(): number | undefined {
  return statSync(BUILT, { throwIfNoEntry: false })?.mtimeMs
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return undefined
  }
}

/** The process whose id is in the file has the lock, for as long as it lives: a busy machine may build for minutes. */
async function acquire(lock: string): Promise<void> {
  while (!isCreated(lock)) {
    // 0 if the owner has not written its id yet, or if the lock is gone.
    const owner = Number(read(lock) ?? 0)
    if (owner > 0 && !(await isRunning(owner))) rmSync(lock, { force: true })
    await sleep(50)
  }
}

function isCreated(lock: string): boolean {
  try {
    writeFileSync(lock, `${process.pid}`, { flag: 'wx' })
    return true
  } catch (error) {
    if (Object(error).code !== 'EEXIST') throw error
    return false
  }
}
