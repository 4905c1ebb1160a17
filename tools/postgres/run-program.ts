import { spawn } from 'node:child_process'
import { basename } from 'node:path'
import { systemClock } from '../../src/contract/clock.js'

/** The longest kept output of a program, in characters. */
const MAX_OUTPUT = 1 << 20

/** The user that a server runs as. */
export interface ServerUser {
  readonly uid: number
  readonly gid: number
}

export interface RunOptions {
  /** The environment. Default: that of this process. */
  readonly env?: NodeJS.ProcessEnv | undefined
  readonly user?: ServerUser | undefined
  /** Default `/`, because the current folder may be closed to `user`. */
  readonly cwd?: string | undefined
  /** Ends the program and its process group. */
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs?: number | undefined
  /** Called with the id of the process, which leads its own process group. */
  readonly started?: ((pid: number) => void) | undefined
}

/**
 * Runs a program, and returns its standard output. Rejects with one line if it cannot be run, fails or takes too long. If the
 * signal ended it, it rejects with the signal's reason.
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
    // Not the timeout of spawn, which stays active if the program cannot be run.
    const timer = new AbortController()
    let isTimedOut = false
    if (options.timeoutMs !== undefined) {
      const expire = (): void => {
        isTimedOut = true
        end()
      }
      systemClock.sleep(options.timeoutMs, timer.signal).then(expire, () => {})
    }
    const cleanUp = (): void => {
      timer.abort()
      signal?.removeEventListener('abort', end)
    }
    child.once('error', (error) => {
      cleanUp()
      reject(new Error(`cannot run ${file}: ${reasonOf(error)}`, { cause: error }))
    })
    child.once('close', (code, ended) => {
      cleanUp()
      if (signal?.aborted) reject(signal.reason)
      else if (isTimedOut)
        reject(new Error(`${name} took longer than ${options.timeoutMs} ms${errorSummary(complaint)}`))
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

/** Signals a process and its group. Ignores processes that have ended. */
export function signalGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  for (const target of pid === undefined ? [] : [-pid, pid]) {
    try {
      process.kill(target, signal)
    } catch {}
  }
}

/** Returns the relevant last lines of a program's output, as the end of a one-line message. */
export function errorSummary(text: string): string {
  const lines = text.split('\n').map((line) => line.replace(/^\d{4}-\S+ \S+ \S+ \[\d+\] /, '').trim())
  const nonEmpty = lines.filter((line) => line !== '')
  const severe = nonEmpty.filter((line) =>
    /\b(fatal|panic|error|hint|denied|not found|cannot|could not|invalid|unrecognized)\b/i.test(line),
  )
  const kept = (severe.length > 0 ? severe : nonEmpty).slice(-3)
  return kept.length === 0 ? '' : `: ${kept.join('; ')}`
}

function reasonOf(error: NodeJS.ErrnoException): string {
  switch (error.code) {
    case 'ENOENT':
      return 'the program does not exist, or its loader is missing on this system'
    case 'EACCES':
      return 'permission denied, or its folder forbids execution'
    case 'EPERM':
    case 'EINVAL':
      return `this process may not run it as another user (${error.code})`
    default:
      return error.message
  }
}
