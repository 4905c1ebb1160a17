import { type ChildProcess, spawn } from 'node:child_process'
import { Socket } from 'node:net'

/**
 * Reads process ids from its standard input, the newest one counts and an empty line means none. When the input ends,
 * and it does however we die, it ends that process and removes the folder.
 */
const watchdog = `
# A process that is dead and waits for its parent to notice is not alive; not every system's first process is quick to notice.
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
 * Sees to it that a child process and a folder do not outlive us, whether we exit, throw, or are killed by a signal,
 * SIGKILL included: a shell in a session of its own waits for our end of a pipe to close. The cleaning takes place just after
 * our end, and up to 10 s later where the child is slow to stop. Does not keep our process alive.
 */
export class OrphanGuard {
  readonly #shell: ChildProcess

  /** `signal` is what the child is asked to stop with; `folder` is removed with all it holds. */
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

  /** From now on this child, and no other; `undefined` where there is none. */
  guard(pid: number | undefined): void {
    this.#shell.stdin?.write(`${pid ?? ''}\n`)
  }

  /** The guard goes: it removes the folder if that still exists, and ends the child it was told of last. */
  release(): void {
    this.#shell.stdin?.end()
  }
}
