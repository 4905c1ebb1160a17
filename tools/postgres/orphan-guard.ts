import { type ChildProcess, spawn } from 'node:child_process'
import { Socket } from 'node:net'

/**
 * Reads process ids from its standard input. The last one counts, and an empty line means none. When the input ends, because the
 * parent has ended in any way, it ends that process and removes the folder.
 */
const watchdog = `
# A zombie is not alive. The first process of some systems is slow to reap zombies.
is_alive() {
  kill -0 "$pid" 2>/dev/null || return 1
  read -r stat 2>/dev/null < "/proc/$pid/stat" || return 0
  case $stat in *") Z "*) return 1 ;; esac
}
pid=
while read -r line; do pid=$line; done
if [ -n "$pid" ]; then
  kill -s "$1" "$pid" 2>/dev/null
  tries=0
  while is_alive && [ $tries -lt 100 ]; do sleep 0.1; tries=$((tries + 1)); done
  kill -s KILL "$pid" 2>/dev/null
  kill -s KILL -- "-$pid" 2>/dev/null
fi
tries=0
while [ -e "$2" ] && [ $tries -lt 20 ]; do
  rm -rf "$2" 2>/dev/null || sleep 0.1
  tries=$((tries + 1))
done
`

/**
 * Ends a child process and removes a folder when this process ends, even by SIGKILL: a shell in its own session waits until the
 * pipe to this process closes. A child that is slow to stop is killed after 10 s. The guard does not keep this process alive.
 */
export class OrphanGuard {
  readonly #shell: ChildProcess

  /** `signal`: the signal that stops the child. `folder` is removed with its contents. */
  constructor(folder: string, signal: 'INT' | 'QUIT' | 'KILL') {
    this.#shell = spawn('/bin/sh', ['-c', watchdog, 'listwatch-guard', signal, folder], {
      cwd: '/',
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    })
    this.#shell.once('error', () => {})
    this.#shell.stdin?.on('error', () => {})
    this.#shell.unref()
    if (this.#shell.stdin instanceof Socket) this.#shell.stdin.unref()
  }

  /** Guards this child instead of the previous one; none if `pid` is undefined. */
  guard(pid: number | undefined): void {
    this.#shell.stdin?.write(`${pid ?? ''}\n`)
  }

  /** Ends the guard: it ends the guarded child and removes the folder, if they still exist. */
  release(): void {
    this.#shell.stdin?.end()
  }
}
