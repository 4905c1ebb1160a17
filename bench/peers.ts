import { execFile } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** How the same job is done in another language: its sources lie in `peers/`, their versions pinned. */
interface Peer {
  readonly name: string
  readonly tool: string
  /** What builds it, into that folder. */
  build(into: string): readonly string[]
  /** The program in that folder. */
  program(into: string): string
}

const peers: readonly Peer[] = [
  {
    name: 'client-go',
    tool: 'go',
    build: (into) => ['build', '-mod=readonly', '-trimpath', '-ldflags', '-s -w', '-o', join(into, 'client-go'), '.'],
    program: (into) => join(into, 'client-go'),
  },
  {
    name: 'kube-rs',
    tool: 'cargo',
    build: (into) => ['build', '--locked', '--release', '--target-dir', into],
    program: (into) => join(into, 'release', 'listwatch-bench'),
  },
]

/**
 * Returns the programs of the peers whose tools are installed, by name. The first call builds them, which takes minutes. A peer that
 * does not build is left out, and the reason is printed.
 */
export async function buildPeers(): Promise<ReadonlyMap<string, string>> {
  const programs = new Map<string, string>()
  for (const { name, tool, build, program } of peers) {
    const into = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'listwatch', 'bench', name)
    try {
      await mkdir(into, { recursive: true })
      const cwd = fileURLToPath(new URL(`peers/${name}`, import.meta.url))
      await run(tool, build(into), { cwd, maxBuffer: 1 << 26 })
      programs.set(name, program(into))
    } catch (error) {
      console.error(`bench: without ${name}: ${String(error).split('\n').slice(0, 3).join(' ')}`)
    }
  }
  return programs
}

/** What a program prints as JSON. */
export async function runPeer<R>(program: string, args: readonly string[]): Promise<R> {
  const { stdout } = await run(program, [...args], { maxBuffer: 1 << 26 })
  return JSON.parse(stdout.trim().split('\n').at(-1) || '{}') as R
}
