import { spawnSync } from 'node:child_process'
import { Child } from '../support/child.js'

/** The command `script` of util-linux runs a program on a new terminal. */
export const hasScript: boolean = /util-linux/.test(
  spawnSync('sh', ['-c', 'script --version'], { encoding: 'utf8' }).stdout ?? '',
)

export type TypingOptions = { readonly cwd: string; readonly env: NodeJS.ProcessEnv }

/** A command of `sh` on a new terminal, on which a test types. */
export class Typing extends Child {
  constructor(command: string, options: TypingOptions) {
    const args = ['-c', 'exec script -qec "$0" /dev/null', command]
    super('sh', args, { ...options, stdio: ['pipe', 'pipe', 'pipe'] })
  }

  type(keys: string): void {
    this.process.stdin?.write(keys)
  }
}
