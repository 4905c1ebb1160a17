import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { compileFunction } from 'node:vm'
import { root } from '../support/sources.js'
import { fileOf, type Prepared, type PreparedFile, resolved } from './matrix-modules.js'
import { apiFor } from './matrix-tests.js'

type Exports = Record<string, unknown>
type Factory = (...args: unknown[]) => unknown

const PARAMETERS = [
  '__vite_ssr_exports__',
  '__vite_ssr_import__',
  '__vite_ssr_dynamic_import__',
  '__vite_ssr_exportAll__',
  '__vite_ssr_import_meta__',
  '__m',
  '__f',
  '__lt',
  '__le',
  '__gt',
  '__ge',
]

/** The limit of steps of a test: a multiple of those that it needs without a mutant, and a number on top. */
export const STEPS_FACTOR = 20
export const MORE_STEPS = 200_000

/** A module that is another one in this world. */
export interface Replaced {
  readonly path: string
  readonly body: string
}

/** The compiled modules, of which worlds are made, and the modules of others. */
export class Modules {
  readonly prepared: Prepared
  readonly externals = new Map<string, Exports>()
  /** Modules of which these are loaded. */
  readonly #complete = new Set<string>()
  readonly #factories = new Map<string, Factory>()

  constructor(prepared: Prepared) {
    this.prepared = prepared
  }

  file(module: string): PreparedFile {
    const file = this.prepared.files[fileOf(module)]
    if (file === undefined) throw new Error(`${module} was not prepared`)
    return file
  }

  factory(module: string): Factory {
    const path = fileOf(module)
    let factory = this.#factories.get(path)
    if (factory === undefined) {
      factory = this.compiled(path, this.file(path).code)
      this.#factories.set(path, factory)
    }
    return factory
  }

  compiled(path: string, body: string): Factory {
    return compileFunction(`'use strict';${body}`, PARAMETERS, { filename: join(root, path) }) as Factory
  }

  /** Loads what a module imports of others, also through modules of ours. */
  async loadExternals(module: string): Promise<void> {
    const path = fileOf(module)
    if (this.#complete.has(path)) return
    this.#complete.add(path)
    for (const each of this.file(path).imports) {
      if (/\.tsx?(\?|$)/.test(each)) await this.loadExternals(each)
      else if (each !== 'vitest' && !this.externals.has(each)) this.externals.set(each, await import(each))
    }
  }
}

/** All modules once, with at most one mutant. */
export class World {
  /** How often each mutant and function was reached, since the last look. */
  readonly mutantHits: Uint8Array
  readonly functionHits: Uint8Array
  readonly #modules: Modules
  readonly #replaced: Replaced | undefined
  readonly #tools: unknown[]
  readonly #api: Exports
  readonly #mocks = new Map<string, (original: () => Promise<unknown>) => unknown>()
  #instances = new Map<string, { exports: Exports; done: unknown }>()
  #left = Number.POSITIVE_INFINITY
  #isOver = false

  constructor(modules: Modules, active: number, replaced?: Replaced) {
    this.#modules = modules
    this.#replaced = replaced
    const hits = new Uint8Array(modules.prepared.mutants)
    const functions = new Uint8Array(modules.prepared.functions)
    this.mutantHits = hits
    this.functionHits = functions
    const isActive = (id: number): boolean => {
      hits[id] = 1
      return id === active
    }
    const step = (id: number): void => {
      functions[id] = 1
      if (--this.#left < 0) this.#endless()
    }
    // A boundary matters only if both sides are equal.
    type Side = number
    const equal = (a: Side, b: Side): boolean => a <= b && a >= b
    const lt = (id: number, a: Side, b: Side): boolean => (equal(a, b) && isActive(id) ? a <= b : a < b)
    const le = (id: number, a: Side, b: Side): boolean => (equal(a, b) && isActive(id) ? a < b : a <= b)
    const gt = (id: number, a: Side, b: Side): boolean => (equal(a, b) && isActive(id) ? a >= b : a > b)
    const ge = (id: number, a: Side, b: Side): boolean => (equal(a, b) && isActive(id) ? a > b : a >= b)
    this.#tools = [isActive, step, lt, le, gt, ge]
    this.#api = apiFor({
      mock: (specifier, factory) => void this.#mocks.set(specifier, factory),
      resetModules: () => {
        this.#instances = new Map()
      },
    })
  }

  /** True after a test that did not end by itself. Its remaining steps may not disturb other tests. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** Begins a test with a limit of steps. The result returns those that it took. */
  begin(steps: number): () => number {
    if (!this.#isOver) this.#left = steps
    return () => steps - this.#left
  }

  end(): void {
    this.#isOver = true
    this.#left = -1
  }

  #endless(): never {
    this.end()
    throw new Error('too many steps')
  }

  /** Loads a file of tests. It declares its tests also if another one has imported it. */
  loadTests(file: string): unknown {
    for (const module of [...this.#instances.keys()])
      if (/\.test\.tsx?$/.test(fileOf(module))) this.#instances.delete(module)
    return this.load(file)
  }

  /** Returns the exports of a module, or a promise if it awaits outside of functions. */
  load(module: string): unknown {
    const known = this.#instances.get(module)
    if (known !== undefined) return known.done ?? known.exports
    const exports: Exports = Object.defineProperty({}, Symbol.toStringTag, { value: 'Module' })
    const instance = { exports, done: undefined as unknown }
    this.#instances.set(module, instance)
    const path = fileOf(module)
    const factory =
      this.#replaced?.path === path ? this.#modules.compiled(path, this.#replaced.body) : this.#modules.factory(path)
    const done = factory(
      exports,
      (specifier: string) => this.#import(specifier, path),
      (specifier: string) => this.#dynamicImport(specifier, path),
      (from: Exports) => exportAll(exports, from),
      metaOf(path),
      ...this.#tools,
    )
    if (this.#modules.file(path).isAsync) {
      instance.done = (done as Promise<void>).then(() => exports)
      return instance.done
    }
    return exports
  }

  #import(specifier: string, importer: string): unknown {
    if (specifier === 'vitest') return this.#api
    const module = resolved(specifier, importer)
    if (specifier.startsWith('.')) return this.load(module)
    return this.#mocked.get(specifier) ?? this.#external(specifier)
  }

  readonly #mocked = new Map<string, unknown>()

  #external(specifier: string): Exports {
    const external = this.#modules.externals.get(specifier)
    if (external === undefined) throw new Error(`${specifier} was not loaded`)
    return external
  }

  async #dynamicImport(specifier: string, importer: string): Promise<unknown> {
    for (const [mocked, factory] of this.#mocks)
      if (!this.#mocked.has(mocked)) this.#mocked.set(mocked, await factory(async () => this.#external(mocked)))
    if (!specifier.startsWith('.') && specifier !== 'vitest') {
      if (!this.#modules.externals.has(specifier)) this.#modules.externals.set(specifier, await import(specifier))
    }
    return await this.#import(specifier, importer)
  }
}

function exportAll(exports: Exports, from: Exports): void {
  for (const key in from) {
    if (key === 'default' || key in exports) continue
    Object.defineProperty(exports, key, { enumerable: true, configurable: true, get: () => from[key] })
  }
}

function metaOf(path: string): Record<string, unknown> {
  const filename = join(root, path)
  const { href } = pathToFileURL(filename)
  const require = createRequire(href)
  return {
    url: href,
    filename,
    dirname: dirname(filename),
    resolve: (specifier: string) => pathToFileURL(require.resolve(specifier)).href,
  }
}
