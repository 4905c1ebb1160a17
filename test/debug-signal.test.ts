import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { beforeAll, describe, expect, test } from 'vitest'
import { ensureBuilt } from './support/build.js'
import { Child } from './support/child.js'
import { root } from './support/sources.js'

const moduleAt = (path: string): string => JSON.stringify(pathToFileURL(join(root, 'dist', path)).href)

/** A program with two informers, one of which has started. */
function program(end: string): readonly string[] {
  const text = `
    import { createInformer } from ${moduleAt('src/index.js')}
    import { memorySource } from ${moduleAt('adapters/memory/index.js')}
    const source = memorySource({ entries: [['a', { n: 1n, at: new Date(0) }]] })
    globalThis.first = createInformer({ source, name: 'first', indexes: (ix) => ({ n: ix.equal((o) => o.n) }) })
    globalThis.second = createInformer({ source, name: 'second' })
    console.log(process.listenerCount('SIGUSR2'))
    ${end}
  `
  return ['--input-type=module', '--eval', text]
}

function started(end: string, debug: string | undefined): Child {
  return new Child(process.execPath, program(end), { env: { ...process.env, LISTWATCH_DEBUG: debug } })
}

describe('SIGUSR2', () => {
  beforeAll(ensureBuilt)

  test('[O7] with LISTWATCH_DEBUG=1 prints all informers of the process, one per line', async () => {
    await using child = started(`await first.start().synced(); setInterval(() => {}, 1_000); console.log('ready')`, '1')
    await child.until(() => child.lines.includes('ready'), 'the program starts')
    child.kill('SIGUSR2')
    await child.until(() => child.errors.split('\n').length > 2, 'two lines')
    const printed = child.errors
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { name: string; objects: number })
    expect(printed.map(({ name, objects }) => [name, objects])).toEqual(Object.entries({ first: 1, second: 0 }))
    expect(printed[0]).toMatchObject({ indexes: { first: [{ name: 'n', largest: [{ value: '1', objects: 1 }] }] } })
  })

  test('[O7] does not print a stopped informer', async () => {
    await using child = started(`await first.stop(); setInterval(() => {}, 1_000); console.log('ready')`, '1')
    await child.until(() => child.lines.includes('ready'), 'the program starts')
    child.kill('SIGUSR2')
    await child.until(() => child.errors.split('\n').length > 1, 'a line')
    expect(child.errors).toMatch(/^\{"name":"second".*\}\n$/)
  })

  test('[O7] with LISTWATCH_DEBUG=1 has a handler that does not keep the process alive', async () => {
    await using child = started('', '1')
    expect(await child.ended).toEqual({ code: 0, signal: null })
    expect(child.lines).toEqual(['1'])
  })

  test.each([undefined, '0'])('[O7] with LISTWATCH_DEBUG=%s has no handler', async (debug) => {
    await using child = started('', debug)
    expect(await child.ended).toEqual({ code: 0, signal: null })
    expect(child.lines).toEqual(['0'])
  })
})
