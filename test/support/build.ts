import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, rmdirSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { filesUnder, root } from './sources.js'

const INPUTS = ['package.json', 'scripts/bundle.mjs', 'tsconfig.json', 'tsconfig.build.json']
const FOLDERS = ['src', 'adapters', 'inspector', 'telemetry', 'bindings', 'testing', 'cli', 'tools']
const BUILT = join(root, 'dist/src/index.js')
const DEADLINE_MS = 60_000

/** The tools of the package, as npm scripts find them. */
export function binary(name: string): string {
  return join(root, 'node_modules/.bin', name)
}

/** Builds `dist` unless it is what the sources give; one at a time, however many test files ask. */
export async function ensureBuilt(): Promise<void> {
  const name = `listwatch-build-${createHash('sha256').update(root).digest('hex').slice(0, 12)}`
  const [lock, stamp] = [join(tmpdir(), name), join(tmpdir(), `${name}.stamp`)]
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
    rmdirSync(lock)
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

/** A directory is made by one only. One that was left behind by a process that died counts for nothing. */
async function acquire(lock: string): Promise<void> {
  for (const deadline = Date.now() + DEADLINE_MS; ; ) {
    try {
      mkdirSync(lock)
      return
    } catch (error) {
      if (Date.now() > deadline)
        throw new Error(`another process has been building for a minute: ${lock}`, { cause: error })
      if (isOld(lock)) removeQuietly(lock)
      await sleep(50)
    }
  }
}

function isOld(lock: string): boolean {
  const made = statSync(lock, { throwIfNoEntry: false })?.mtimeMs
  return made !== undefined && Date.now() - made > DEADLINE_MS / 2
}

function removeQuietly(lock: string): void {
  try {
    rmdirSync(lock)
  } catch {
    // Another process removed it.
  }
}
