import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { TestContext } from 'vitest'
import { areServersRequired } from '../servers/required.js'

/** Returns a function that runs another version of Node, which npm fetches, and returns its output. */
export async function otherNode(
  context: TestContext,
  version: string,
): Promise<(args: readonly string[]) => Promise<string>> {
  const exec = ['exec', '--yes', `--package=node@${version}`, '--', 'node']
  const run = async (args: readonly string[]): Promise<string> =>
    (await promisify(execFile)('npm', [...exec, ...args])).stdout
  const found = await run(['-p', 'process.version']).catch((error: unknown) => {
    if (areServersRequired()) throw error
    return context.skip(`node@${version} cannot be had: ${error instanceof Error ? error.message : error}`)
  })
  if (found.trim() !== `v${version}`) throw new Error(`npm runs Node ${found.trim()} instead of ${version}`)
  return run
}
