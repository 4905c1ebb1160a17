import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { KubeConfig } from '@kubernetes/client-node'
import { beforeAll, expect, onTestFinished, type TestContext, test } from 'vitest'
import type { Database } from '../postgres/support.js'
import type { KubeConfigOptions } from '../servers/kubernetes.js'
import { binary, ensureBuilt } from '../support/build.js'
import { Child } from '../support/child.js'
import { root } from '../support/sources.js'

/** The tests of this folder run the built package. */
beforeAll(ensureBuilt)

export const node: string = binary('node')
export const main: string = join(root, 'dist/cli/bin.cjs')

/** What a user's shell has, and nothing that says how this test was started. */
const environment: NodeJS.ProcessEnv = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(npm_|PG|VITEST|NODE_|FORCE_COLOR|NO_COLOR|CI$)/.test(name)),
)

export interface CommandOptions {
  /** Beside the environment; `undefined` takes one away. */
  readonly env?: NodeJS.ProcessEnv
  /** Another copy of the program. */
  readonly main?: string
  /** Of the context of a concurrent test. */
  readonly onTestFinished?: TestContext['onTestFinished']
}

/** The command line, as a user starts it; killed when the test is over. */
export function listwatch(args: readonly string[], options: CommandOptions = {}): Child {
  const env = { ...environment, ...options.env }
  const child = new Child(node, [options.main ?? main, ...args], { cwd: root, env })
  const atEnd = options.onTestFinished ?? onTestFinished
  atEnd(() => child[Symbol.asyncDispose]())
  return child
}

/** A command of a shell, in which `listwatch` is the command line; killed when the test is over. */
export function shell(command: string, env: NodeJS.ProcessEnv = {}): Child {
  const text = `listwatch() { '${node}' '${main}' "$@"; }; ${command}`
  const child = new Child('bash', ['-c', text], { cwd: root, env: { ...environment, ...env } })
  onTestFinished(() => child[Symbol.asyncDispose]())
  return child
}

/** A program of `examples/`, against the built package; killed when the test is over. */
export function example(name: string, args: readonly string[] = [], env: NodeJS.ProcessEnv = {}): Child {
  const child = new Child(node, [join('examples', name), ...args], { cwd: root, env: { ...process.env, ...env } })
  onTestFinished(() => child[Symbol.asyncDispose]())
  return child
}

/** Gone when the test is over. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'listwatch-cli-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** The environment of a command that uses this kubeconfig. */
export function kubeConfigEnv(options: KubeConfigOptions): { readonly KUBECONFIG: string } {
  const config = new KubeConfig()
  config.loadFromOptions(options)
  const path = join(temporaryFolder(), 'config')
  writeFileSync(path, config.exportConfig())
  return { KUBECONFIG: path }
}

export function synced(child: Child): Promise<void> {
  return child.until(() => child.output.includes('"synced"'), 'the first list')
}

export function deleted(child: Child): Promise<void> {
  return child.until(() => child.output.includes('"delete"'), 'the delete')
}

/** The lines of `watch --json`. */
export function told(child: Child): unknown[] {
  return child.lines.map((line) => {
    const { type, key, object } = JSON.parse(line) as { type: string; key?: string; object?: unknown }
    return [type, key, object]
  })
}

/** A `watch --json` of one object prints its first state and the later ones, and nothing else until it is stopped. */
export async function expectStates(
  child: Child,
  write: () => Promise<unknown>,
  key: string,
  states: readonly object[],
) {
  await synced(child)
  await write()
  await deleted(child)
  const [first, ...later] = states
  expect(told(child)).toEqual([
    ['add', key, first],
    ['synced', undefined, undefined],
    ...later.map((state) => ['update', key, state]),
    ['delete', key, states.at(-1)],
  ])
  await expectEnd(child, 'SIGINT')
  expect(child.errors).toBe('')
}

/** The process ends with exit code 0, after this signal if there is one. */
export async function expectEnd(child: Child | undefined, signal?: NodeJS.Signals): Promise<void> {
  if (signal !== undefined) child?.kill(signal)
  expect(await child?.ended).toEqual({ code: 0, signal: null })
}

export type Result = { readonly code: number | null; readonly output: string; readonly errors: string }

/** Waits for the end of the process, and returns its exit code and its output. */
export async function resultOf(child: Child): Promise<Result> {
  const { code } = await child.ended
  return { code, output: child.output, errors: child.errors }
}

/** The output of a command that succeeds, and says nothing of errors. */
export async function outputOf(child: Child): Promise<string> {
  const { output, ...rest } = await resultOf(child)
  expect(rest).toEqual({ code: 0, errors: '' })
  return output
}

/** The informers that `listwatch serve` shows at the address that it prints. */
export async function informersAt(serve: Child): Promise<readonly Readonly<Record<string, unknown>>[]> {
  await serve.until(() => serve.lines.length > 0, 'the address')
  const { origin, hash } = new URL(serve.lines[0] ?? '')
  const headers = { authorization: hash.replace('#token=', 'Bearer ') }
  return (await (await fetch(`${origin}/api/informers`, { headers })).json()) as readonly Record<string, unknown>[]
}

/** A command that refuses ends within this time, in milliseconds. */
const DEADLINE_MS = 20_000

/** The one line with which a command refuses: nothing else is printed, the exit code is 2, and no password is printed. */
export async function refusalOf(child: Child): Promise<string> {
  const late = setTimeout(() => child.kill('SIGKILL'), DEADLINE_MS)
  const { code, output, errors } = await resultOf(child)
  clearTimeout(late)
  const [line = '', ...rest] = errors.split('\n')
  const flaws = [
    ...(code === 2 ? [] : [`the exit code is ${code}`]),
    ...(output === '' ? [] : [`it printed ${output}`]),
    ...(line.startsWith('listwatch: ') && rest.length === 1 && rest[0] === '' ? [] : ['it did not say one line']),
    ...(errors.includes(SECRET) ? ['it printed the password'] : []),
  ]
  if (flaws.length > 0) throw new Error(`${flaws.join('; ')}:\n${errors}`)
  return line.slice('listwatch: '.length)
}

/** A password that must never be printed. */
export const SECRET = 'hunter2-or-so'

export function urlOf(database: Database, user = 'postgres', password?: string): string {
  const { host, port } = database.config()
  return `postgres://${user}${password === undefined ? '' : `:${password}`}@${host}:${port}/${database.name}`
}

/** Lines of a shell that `listwatch` refuses by one line, with parts of that line. Single quotes are around a word that needs them. */
export type Refusals = readonly (readonly [line: string, ...says: string[]])[]

/** A test for each of them. `optionsOf` is called in the test. */
export function testRefusals(refusals: Refusals, optionsOf: () => CommandOptions = () => ({})): void {
  test.each(refusals)('listwatch %s: one line that says what to do', async (line, ...says) => {
    const words = Array.from(line.matchAll(/'([^']*)'|\S+/g), ([word, quoted]) => quoted ?? word)
    const refusal = await refusalOf(listwatch(words, optionsOf()))
    for (const each of says) expect(refusal).toContain(each)
  })
}
