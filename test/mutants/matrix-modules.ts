import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, extname, join, normalize } from 'node:path'
import { moduleRunnerTransform, transformSync } from 'rolldown/experimental'
import { filesUnder, root, textOf } from '../support/sources.js'
import { type FunctionSpan, type Instrumented, instrumented, type Operator } from './matrix-operators.js'

const PRODUCT = ['src', 'adapters', 'cli', 'testing', 'telemetry', 'bindings', 'inspector']
/** The lines of code for each operator mutant. */
const LINES_PER_MUTANT = 2.5

/** The id of no mutant: no test may fail. */
export const PROBE = 'no mutant'

export interface PreparedFile {
  readonly code: string
  /** The modules that it imports, statically or not. Those of ours are paths. */
  readonly imports: readonly string[]
  readonly isAsync: boolean
  readonly operators: readonly Operator[]
  readonly firstMutant: number
  readonly functions: readonly FunctionSpan[]
  readonly firstFunction: number
}

/** All modules that the tests import, ready to run. */
export interface Prepared {
  readonly hash: string
  readonly tests: readonly string[]
  readonly files: Readonly<Record<string, PreparedFile>>
  readonly mutants: number
  readonly functions: number
}

export const isProduct = (path: string): boolean => PRODUCT.includes(path.split('/')[0] ?? '')
/** Without the query that makes it a module of its own. */
export const fileOf = (module: string): string => module.split('?')[0] ?? module

/** Returns the code without types. Positions stay, except in TSX. */
function stripped(path: string, source: string): string {
  if (extname(path) !== '.tsx') return stripTypeScriptTypes(source)
  return transformSync(path, source, { lang: 'tsx', jsx: { runtime: 'automatic' } }).code
}

/** Returns the path of an imported file of ours, from the root; the specifier of others. */
export function resolved(specifier: string, importer: string): string {
  if (!specifier.startsWith('.')) return specifier
  const [name = '', query] = normalize(join(dirname(importer), specifier)).split('?')
  const path = ['.ts', '.tsx'].map((end) => name.replace(/\.[jt]s$/, end)).find((each) => existsSync(join(root, each)))
  if (path === undefined) throw new Error(`${importer}: there is no ${specifier}`)
  return query === undefined ? path : `${path}?${query}`
}

/** Returns the body of a function that has what a module imports as parameters. */
async function asBody(path: string, { code, isAsync }: Instrumented): Promise<{ body: string; imports: string[] }> {
  const { code: text, deps, dynamicDeps, errors } = await moduleRunnerTransform(join(root, path), code, {})
  if (errors.length > 0) throw new SyntaxError(`${path}: ${errors[0]?.message}`)
  const body = text.replaceAll('await __vite_ssr_import__(', '__vite_ssr_import__(')
  return {
    body: isAsync ? `return (async () => {${body}\n})()` : body,
    imports: [...new Set([...deps, ...dynamicDeps])].map((each) => resolved(each, path)),
  }
}

/** Returns the body of a module with this source instead of its own, without operator mutants. */
export async function bodyOf(path: string, source: string): Promise<string> {
  const options = { count: 0, firstMutant: 0, firstFunction: 0 }
  return (await asBody(path, instrumented(path, stripped(path, source), options))).body
}

function linesOfCode(code: string): number {
  return code.split('\n').filter((line) => line.trim() !== '' && !/^\s*(\/\/|\/?\*)/.test(line)).length
}

async function prepare(hash: string, tests: readonly string[], perFile: number): Promise<Prepared> {
  const files: Record<string, PreparedFile> = {}
  let [mutants, functions] = [0, 1]
  const open = [...tests]
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (files[path] !== undefined) continue
    const code = stripped(path, textOf(path))
    const count = isProduct(path) ? Math.min(perFile, Math.ceil(linesOfCode(code) / LINES_PER_MUTANT)) : 0
    const made = instrumented(path, code, { count, firstMutant: mutants, firstFunction: functions })
    const { body, imports } = await asBody(path, made)
    const { isAsync, operators } = made
    files[path] = {
      code: body,
      imports,
      isAsync,
      operators,
      firstMutant: mutants,
      functions: made.functions,
      firstFunction: functions,
    }
    mutants += operators.length
    functions += made.functions.length
    open.push(...imports.map(fileOf).filter((each) => /\.tsx?$/.test(each)))
  }
  return { hash, tests, files, mutants, functions }
}

/** Compiles the unit and property tests with this prefix and their imports, or reads the compiled modules from this file. */
export async function preparedIn(file: string, perFile: number, prefix: string): Promise<Prepared> {
  const all = [...filesUnder(['test/unit', 'test/property'], '.test.ts'), ...filesUnder(['test/unit'], '.test.tsx')]
  const tests = all.filter((path) => path.startsWith(prefix))
  const hash = createHash('sha256').update(`${perFile}${prefix}`)
  for (const path of [...filesUnder([...PRODUCT, 'test'], '.ts'), ...filesUnder(['test/unit'], '.tsx')])
    if (!path.startsWith('test/mutants/') || path.endsWith('operators.ts')) hash.update(path).update(textOf(path))
  const digest = hash.digest('hex')
  if (existsSync(file)) {
    const prepared = JSON.parse(readFileSync(file, 'utf8')) as Prepared
    if (prepared.hash === digest) return prepared
  }
  const prepared = await prepare(digest, tests, perFile)
  writeFileSync(file, JSON.stringify(prepared))
  return prepared
}
