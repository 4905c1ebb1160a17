import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { open, rename } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { fileCacheOn } from '../../caches/file/file-cache.js'
import type { Files } from '../../caches/file/files.js'
import { fileCache } from '../../caches/file/index.js'
import type { SavedRecord } from '../../src/contract/mirror-cache.js'
import { packerOf, recordsOf } from '../support/packed.js'
import { contextOf, entries, folder, load, mirrorOf, temporaries } from './support.js'

const KINDS: readonly SavedRecord[] = [
  { type: 'entry', key: 'a', object: { n: 1 } },
  { type: 'entry', key: 'a', object: null, version: '5' },
  { type: 'entry', key: '__proto__', object: 'text', uid: 'u' },
  { type: 'entry', key: 'ü\u0000', object: [1n], version: '6', uid: 'u2' },
  { type: 'filtered', key: 'f', version: '7' },
  { type: 'filtered', key: 'f2', version: undefined },
  { type: 'invalid', key: 'i', version: undefined, reason: 'no "n"' },
  { type: 'invalid', key: 'i2', version: '8', reason: '' },
]

describe('a saved mirror', () => {
  test('comes back with its header and all kinds of records', async () => {
    const cache = fileCache({ path: join(folder(), 'a.cache') })
    const proof = { version: '9', at: 1_000, by: 'list', foundDrift: 0 } as const
    await cache.save(mirrorOf(KINDS, { version: '9', resumeState: '{"x":1}', proof }), contextOf())
    const loaded = await load(cache)
    expect(loaded).toMatchObject({ version: '9', resumeState: '{"x":1}', proof, size: KINDS.length })
    expect(loaded?.records).toStrictEqual(KINDS)
    expect(Math.abs(Date.now() - (loaded?.savedAt ?? 0))).toBeLessThan(60_000)
  })

  test('may be empty', async () => {
    const cache = fileCache({ path: join(folder(), 'a.cache') })
    await cache.save(mirrorOf([]), contextOf())
    expect(await load(cache)).toMatchObject({ version: '1', size: 0, records: [], resumeState: undefined })
  })

  test('may have many blocks, and an object that is larger than a block', async () => {
    const cache = fileCache({ path: join(folder(), 'a.cache') })
    const records = [...entries(9_000), { type: 'entry', key: 'large', object: 'ä'.repeat(3_000_000) } as const]
    await cache.save(mirrorOf(records), contextOf())
    const saved = await cache.open(contextOf())
    const content = await saved?.packed?.()
    expect(content?.sections.get('blocks')?.length).toBeGreaterThan(3 * 4)
    await saved?.close()
    expect((await load(cache))?.records).toEqual(records)
  })

  test('can be read twice, also after a later save has replaced the file', async () => {
    const cache = fileCache({ path: join(folder(), 'a.cache') })
    await cache.save(mirrorOf(entries(5_000, 1)), contextOf())
    const saved = await cache.open(contextOf())
    const read = async (): Promise<SavedRecord[]> => (saved === undefined ? [] : await recordsOf(saved))
    expect(await read()).toEqual(entries(5_000, 1))
    await cache.save(mirrorOf(entries(10, 2)), contextOf())
    expect(await read()).toEqual(entries(5_000, 1))
    await saved?.close()
    expect((await load(cache))?.records).toEqual(entries(10, 2))
  })

  test('can be read and written only by its owner, and leaves no temporary file', async () => {
    const path = folder()
    await fileCache({ path: join(path, 'a.cache') }).save(mirrorOf(entries(3)), contextOf())
    expect([statSync(join(path, 'a.cache')).mode & 0o777, readdirSync(path)]).toEqual([0o600, ['a.cache']])
  })

  test('needs as many records as its size', async () => {
    const cache = fileCache({ path: join(folder(), 'a.cache') })
    const saved = cache.save({ ...mirrorOf(entries(3)), size: 4 }, contextOf())
    await expect(saved).rejects.toThrow('the mirror has 3 records, not 4')
  })

  test('[H7a] does not replace the file if the signal aborts', async () => {
    const path = folder()
    const cache = fileCache({ path: join(path, 'a.cache') })
    await cache.save(mirrorOf(entries(3)), contextOf())
    const controller = new AbortController()
    function* records(): Generator<SavedRecord> {
      for (const each of entries(100_000, 1)) {
        if (each.key === 'key-50000') controller.abort(new Error('stopped'))
        yield each
      }
    }
    const { signal } = controller
    const mirror = { version: '2', size: 100_000, records, pack: packerOf(records) }
    await expect(cache.save(mirror, contextOf({ signal }))).rejects.toThrow('stopped')
    expect((await load(cache))?.records).toEqual(entries(3))
    expect(temporaries(path)).toEqual([])
  })

  test('[H7a] does not replace the file if the signal aborts while the disk stores it', async () => {
    const path = folder()
    const file = join(path, 'a.cache')
    const controller = new AbortController()
    const files: Files = {
      rename,
      open: async (opened, flags, mode) => {
        const handle = await open(opened, flags, mode)
        const sync = handle.sync.bind(handle)
        handle.sync = async () => {
          await sync()
          // Another process has begun with this file meanwhile.
          await fileCache({ path: file }).save(mirrorOf(entries(3)), contextOf())
          controller.abort(new Error('stopped'))
        }
        return handle
      },
    }
    const { signal } = controller
    const late = fileCacheOn(files, { path: file }).save(mirrorOf(entries(5)), contextOf({ signal }))
    await expect(late).rejects.toThrow('stopped')
    expect((await load(fileCache({ path: file })))?.records).toEqual(entries(3))
    expect(temporaries(path)).toEqual([])
  })
})

describe('a file is not used, with one warning,', () => {
  const reasons: readonly (readonly [string, RegExp | undefined, (path: string) => void])[] = [
    ['and without one if there is none', undefined, () => {}],
    ['if it is empty', /it is empty$/, (path) => writeFileSync(path, '')],
    ['if it is a folder', /it is not a regular file$/, (path) => mkdirSync(path)],
    ['if it is a device', /not a regular file|symbolic link/, (path) => symlinkSync('/dev/zero', path)],
    ['if it is a link', /it is a symbolic link$/, (path) => symlinkSync('/etc/hostname', path)],
    ['if it is text', /it is not a file of fileCache$/, (path) => writeFileSync(path, 'x'.repeat(1_000))],
  ]
  test.each(reasons)('%s', async (_name, warning, prepare) => {
    const path = join(folder(), 'a.cache')
    prepare(path)
    const context = contextOf()
    expect(await fileCache({ path }).open(context)).toBeUndefined()
    expect(context.warnings).toEqual(warning === undefined ? [] : [expect.stringMatching(warning)])
    for (const each of context.warnings) expect(each).toContain(`the file is not used: `)
  })

  test('if its fingerprint or its cacheVersion is another one', async () => {
    const path = join(folder(), 'a.cache')
    await fileCache({ path, cacheVersion: '2' }).save(mirrorOf(entries(3)), contextOf())
    const [otherSource, otherVersion, same] = [contextOf({ fingerprint: 'b' }), contextOf(), contextOf()]
    expect(await fileCache({ path, cacheVersion: '2' }).open(otherSource)).toBeUndefined()
    expect(otherSource.warnings).toEqual([
      `the file is not used: it was saved from another source, or with other options`,
    ])
    expect(await fileCache({ path }).open(otherVersion)).toBeUndefined()
    expect(otherVersion.warnings).toEqual([`the file is not used: its cacheVersion is another one`])
    expect((await load(fileCache({ path, cacheVersion: '2' }), same))?.size).toBe(3)
    expect(same.warnings).toEqual([])
  })
})

function systemError(code: string): Error {
  return Object.assign(new Error(`${code}: injected`), { code, syscall: 'write' })
}

/** Files whose temporary file fails after a number of writes. */
function failing(code: string, afterWrites: number): Files {
  return {
    rename,
    async open(path, flags, mode) {
      const handle = await open(path, flags, mode)
      if (flags !== 'wx') return handle
      let writes = 0
      const write = handle.writeFile.bind(handle)
      handle.writeFile = async (data, options) => {
        if (writes++ >= afterWrites) throw systemError(code)
        await write(data, options)
      }
      return handle
    },
  }
}

function linkToPrecious(path: string): void {
  writeFileSync(join(path, 'target'), 'precious')
  symlinkSync(join(path, 'target'), join(path, 'a.cache'))
}

describe('a save fails with a message that names the file, and the file before it is kept,', () => {
  test.each([0, 1, 2, 3, 6])('if the disk is full after %i writes', async (writes) => {
    const path = folder()
    const file = join(path, 'a.cache')
    await fileCache({ path: file }).save(mirrorOf(entries(5_000, 1)), contextOf())
    const full = fileCacheOn(failing('ENOSPC', writes), { path: file })
    await expect(full.save(mirrorOf(entries(10_000, 2)), contextOf())).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: `file cache ${file} cannot be saved: the disk is full (ENOSPC)`,
    })
    expect(temporaries(path)).toEqual([])
    expect((await load(fileCache({ path: file })))?.records).toEqual(entries(5_000, 1))
  })

  test('if the rename fails', async () => {
    const path = folder()
    const file = join(path, 'a.cache')
    await fileCache({ path: file }).save(mirrorOf(entries(5, 1)), contextOf())
    const files: Files = { open, rename: () => Promise.reject(systemError('EACCES')) }
    await expect(fileCacheOn(files, { path: file }).save(mirrorOf(entries(5, 2)), contextOf())).rejects.toThrow(
      `file cache ${file} cannot be saved: the process has no permission (EACCES)`,
    )
    expect(temporaries(path)).toEqual([])
    expect((await load(fileCache({ path: file })))?.records).toEqual(entries(5, 1))
  })

  test.each<readonly [string, string, file: string, prepare: (path: string) => void]>([
    ['the folder is missing', 'the folder FOLDER/none does not exist', 'none/a.cache', () => {}],
    [
      'a folder of the path is a file',
      'FOLDER/file is not a folder',
      'file/a.cache',
      (path) => writeFileSync(join(path, 'file'), ''),
    ],
    ['the path is a folder', 'it is a folder', 'a.cache', (path) => mkdirSync(join(path, 'a.cache'))],
    ['the path is a link', 'it is a symbolic link', 'a.cache', linkToPrecious],
  ])('if %s', async (_name, flaw, name, prepare) => {
    const path = folder()
    const file = join(path, name)
    prepare(path)
    await expect(fileCache({ path: file }).save(mirrorOf(entries(5)), contextOf())).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: `file cache ${file} cannot be saved: ${flaw.replace('FOLDER', path)}`,
    })
    if (readdirSync(path).includes('target')) expect(readFileSync(join(path, 'target'), 'utf8')).toBe('precious')
  })

  test.skipIf(process.getuid?.() === 0)('if the process may not write into the folder', async () => {
    const path = folder()
    chmodSync(path, 0o500)
    const file = join(path, 'a.cache')
    await expect(fileCache({ path: file }).save(mirrorOf(entries(5)), contextOf())).rejects.toThrow(
      `file cache ${file} cannot be saved: the process has no permission (EACCES)`,
    )
  })
})

test('a save removes temporary files of ended processes, and no others', async () => {
  const path = folder()
  const host = hostname()
  const [old, ended, living] = [
    `a.cache.other-host.1.x1.tmp`,
    `a.cache.${host}.4194304.x1.tmp`,
    `a.cache.${host}.${process.ppid}.x1.tmp`,
  ]
  const before = `a.cache.${host}.${process.pid}.x1.tmp` // Of an earlier process of a container, with the same id.
  const kept = [living, 'a.cache.other-host.1.x2.tmp', 'a.cache.mine.tmp', 'b.cache.other-host.1.x1.tmp', 'a.cache.bak']
  for (const name of [old, ended, before, ...kept]) writeFileSync(join(path, name), '')
  const longAgo = Date.now() / 1_000 - 3_600
  for (const name of [old, 'b.cache.other-host.1.x1.tmp', 'a.cache.mine.tmp'])
    utimesSync(join(path, name), longAgo, longAgo)
  const beforeThis = Date.now() / 1_000 - process.uptime() - 5
  utimesSync(join(path, before), beforeThis, beforeThis)
  await fileCache({ path: join(path, 'a.cache') }).save(mirrorOf(entries(1)), contextOf())
  expect(readdirSync(path).sort()).toEqual(['a.cache', ...kept].sort())
})

test('discard removes the file, and does nothing if there is none', async () => {
  const path = folder()
  const cache = fileCache({ path: join(path, 'a.cache') })
  await cache.save(mirrorOf(entries(1)), contextOf())
  for (let i = 0; i < 2; i++) {
    await cache.discard?.(contextOf())
    expect(readdirSync(path)).toEqual([])
  }
})

test('objects of a source of secrets are refused, unless secrets are allowed', async () => {
  const path = folder()
  const file = join(path, 'a.cache')
  const context = contextOf({ isSensitive: true })
  const refusal = { option: 'secrets', message: expect.stringContaining(`${file} would contain them`) }
  await expect(fileCache({ path: file }).save(mirrorOf(entries(1)), context)).rejects.toMatchObject(refusal)
  await expect(fileCache({ path: file }).open(context)).rejects.toMatchObject(refusal)
  expect(readdirSync(path)).toEqual([])
  const allowed = fileCache({ path: file, secrets: true })
  await allowed.save(mirrorOf(entries(1)), context)
  expect((await load(allowed, context))?.size).toBe(1)
})

describe('options', () => {
  test('have defaults', () => {
    expect(fileCache({ path: '/x/a.cache' })).toMatchObject({
      name: 'file:/x/a.cache',
      serveStale: false,
      saveEveryMs: 60_000,
      saveAfterShare: 0.1,
      maxAgeMs: 600_000,
    })
  })

  test.each<readonly [object, string]>([
    [{}, 'option "path" is required'],
    [{ path: '' }, 'option "path" must be'],
    [{ path: 'a', maxAge: 5 }, 'unknown option "maxAge"'],
    [{ path: 'a', saveEveryMs: 0 }, 'option "saveEveryMs" must be a finite number above 0'],
    [{ path: 'a', encryptionKey: new Uint8Array(31) }, 'must be a Uint8Array of 32 bytes, got an object'],
    [{ path: 'a', encryptionKey: 'a-secret-text' }, 'must be a Uint8Array of 32 bytes, got a string'],
  ])('%j is refused', (options, message) => expect(() => fileCache(options as { path: string })).toThrow(message))

  test('a relative path is one of the working directory at the call', () => {
    expect(fileCache({ path: 'a.cache' }).name).toBe(`file:${join(process.cwd(), 'a.cache')}`)
  })
})

test('a file that shrinks while it is read is refused', async () => {
  const path = join(folder(), 'a.cache')
  const cache = fileCache({ path })
  await cache.save(mirrorOf(entries(40_000)), contextOf())
  const saved = await cache.open(contextOf())
  const reading = saved?.packed?.()
  truncateSync(path, 10_000)
  await expect(reading).rejects.toThrow(`file cache ${path} cannot be used: it ends early`)
  await saved?.close()
})
