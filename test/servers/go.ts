import { setPriority } from 'node:os'
import { join } from 'node:path'
import { runProgram } from '../../tools/postgres/run-program.js'

/** The time to build a server from nothing: some minutes, and more if the cores are busy. */
const BUILD_TIMEOUT_MS = 1_800_000

/**
 * Builds the programs of the Go module in the folder `module` beside this file. The versions are those of its file `modFile`,
 * pinned by the file of sums beside it. `variables` are set in the packages, by their full names.
 */
export async function buildGo(
  module: string,
  modFile: string,
  programs: readonly string[],
  folder: string,
  variables: Readonly<Record<string, string>> = {},
): Promise<void> {
  await runProgram('go', ['version']).catch(() => {
    throw new Error('built from its sources, and there is no Go here (install it: https://go.dev/dl)')
  })
  const link = ['-s -w', ...Object.entries(variables).map(([name, value]) => `-X ${name}=${value}`)].join(' ')
  const flags = ['-mod=readonly', '-modfile', modFile, '-trimpath', '-ldflags', link, '-o', join(folder, '/')]
  const packages = programs.map((name) => `./${name}`)
  await runProgram('go', ['build', ...flags, ...packages], {
    cwd: join(import.meta.dirname, module),
    timeoutMs: BUILD_TIMEOUT_MS,
    // Tests that run beside it need their time, and the later ones need the server.
    started: (pid) => setPriority(pid, 5),
  })
}
