import { spawn } from 'node:child_process'
import { basename } from 'node:path'
import { systemClock } from '../../src/contract/clock.js'

/** How much of a program's output is kept, in characters. */
const MAX_OUTPUT = 1 << 20

/** The user that a server runs as. */
export interface ServerUser {
  readonly uid: number
  readonly gid: number
}

export interface RunOptions {
  /** Replaces our own environment; default: ours. */
  readonly env?: NodeJS.ProcessEnv | undefined
  readonly user?: ServerUser | undefined
  /** Default `/`: our own folder may be closed to `user`. */
  readonly cwd?: string | undefined
  /** Ends the program and all that it started. */
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs?: number | undefined
  /** Told the id of the process, which leads a process group of its own. */
  readonly started?: ((pid: number) => void) | undefined
}

/**
 * What a program wrote to its standard output. Rejects with one line that says why where it cannot be run, fails or
 * takes too long, and with the signal's reason where that ended it.
 */
export function runProgram(file: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
  const { signal } = options
  const name = basename(file)
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    const child = spawn(file, args, {
      cwd: options.cwd ?? '/',
      env: options.env ?? process.env,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
      ...options.user,
    })
    if (child.pid !== undefined) options.started?.(child.pid)
    let output = ''
    let complaint = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-MAX_OUTPUT)
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      complaint = (complaint + text).slice(-MAX_OUTPUT)
    })
    const end = (): void => signalGroup(child.pid, 'SIGKILL')
    signal?.addEventListener('abort', end, { once: true })
    // Not spawn's own: that one is left running where the program cannot be run.
    const late = new AbortController()
    let isLate = false
    if (options.timeoutMs !== undefined) {
      const expire = (): void => {
        isLate = true
        end()
      }
      systemClock.sleep(options.timeoutMs, late.signal).then(expire, () => {})
    }
    const tidy = (): void => {
      late.abort()
      signal?.removeEventListener('abort', end)
    }
    child.once('error', (error) => {
      tidy()
      reject(new Error(`cannot run ${file}: ${reasonOf(error)}`, { cause: error }))
    })
    child.once('close', (code, ended) => {
      tidy()
      if (signal?.aborted) reject(signal.reason)
      else if (isLate) reject(new Error(`${name} took longer than ${options.timeoutMs} ms${errorSummary(complaint)}`))
      else if (code === 0) resolve(output)
      else
        reject(
          new Error(
            `${name} ${ended === null ? `failed (${code})` : `was ended (${ended})`}${errorSummary(complaint)}`,
          ),
        )
    })
  })
}

/** Signals a process and those in its group; one that is gone is no error. */
export function signalGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  for (const target of pid === undefined ? [] : [-pid, pid]) {
    try {
      process.kill(target, signal)
    } catch {}
  }
}

/** The lines that matter of what a program said last, as the end of a one-line message. */
export function errorSummary(text: string): string {
  const lines = text.split('\n').map((line) => line.replace(/^\d{4}-\S+ \S+ \S+ \[\d+\] /, '').trim())
  const spoken = lines.filter((line) => line !== '')
  const grave = spoken.filter((line) =>
    /\b(fatal|panic|error|hint|denied|not found|cannot|could not|invalid|unrecognized)\b/i.test(line),
  )
  const kept = (grave.length > 0 ? grave : spoken).slice(-3)
  return kept.length === 0 ? '' : `: ${kept.join('; ')}`
}

function reasonOf(error: NodeJS.ErrnoException): string {
  switch (error.code) {
    case 'ENOENT':
      return 'there is no such program, or the loader it asks for is not of this system'
    case 'EACCES':
      return 'permission denied, or its folder forbids execution'
    case 'EPERM':
    case 'EINVAL':
      return `we may not become the user it must run as (${error.code})`
    default:
      return error.message
  }
}
