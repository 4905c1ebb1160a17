import { join } from 'node:path'
import type { Installation } from '../../tools/postgres/readable-install.js'
import { runProgram } from '../../tools/postgres/run-program.js'

/** Commands with which an unpacked zsh finds its modules and functions. They do not change an installed one. */
export function zshPaths({ root }: Installation): string {
  return `module_path=('${root}'/usr/lib/*/zsh/*(N) $module_path)
fpath=('${root}'/usr/share/zsh/functions(N) '${root}'/usr/share/zsh/functions/**/*(N/) $fpath)`
}

/** Rejects if zsh has no completion. */
export async function requireCompletion(at: Installation): Promise<void> {
  const script = `${zshPaths(at)}
zmodload zsh/complete zsh/zle && autoload +X -Uz compinit _describe`
  await runProgram(join(at.binDir, 'zsh'), ['-f', '-c', script], {
    env: { ...process.env, ...at.env },
    timeoutMs: 10_000,
  })
}
