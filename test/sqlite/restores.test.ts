import { copyFileSync, mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { backup, DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import { sqliteSource, startEpoch } from '../../adapters/sqlite/index.js'
import { drivers, type Open } from '../conformance/sqlite-harness.js'
import { inProcess, mirrorOf, newFile, opened, rowsOf } from './support.js'

const ITEMS = `CREATE TABLE items (id INTEGER PRIMARY KEY, v); INSERT INTO items VALUES (1, 1), (2, 2), (3, 3)`
const COMMIT = 'UPDATE items SET v = v + 1; INSERT INTO items (v) VALUES (0);'

function driver(name: string): Open {
  const open = drivers[name]
  if (open === undefined) throw new Error(`there is no driver ${name}`)
  return open
}

/** Copies a file that no connection writes, without its -wal and -shm. */
function copyOf(path: string, writer: DatabaseSync): string {
  writer.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  const folder = join(dirname(path), 'copy')
  mkdirSync(folder)
  copyFileSync(path, join(folder, 'copy.db'))
  return join(folder, 'copy.db')
}

function commits(writer: DatabaseSync, count: number): void {
  writer.exec(COMMIT.repeat(count))
}

/** How a copy gets to the place of the file, and whether the next writer had the file open. */
const restores: Readonly<Record<string, (copy: string, path: string) => unknown>> = {
  'is copied over it, without its -wal and -shm': (copy, path) => {
    for (const suffix of ['-wal', '-shm']) rmSync(path + suffix, { force: true })
    copyFileSync(copy, path)
  },
  'is renamed over it': (copy, path) => {
    for (const suffix of ['-wal', '-shm']) rmSync(path + suffix, { force: true })
    renameSync(copy, path)
  },
  'is written over it by the backup API': async (copy, path) => await backup(new DatabaseSync(copy), path),
}

describe.each(['wal', 'delete'])('journal mode %s', (journalMode) => {
  describe.each(Object.entries(restores))('[Z3] an older copy that %s', (_, restore) => {
    test.each([0, 60])('and is written to by %i transactions is EPOCH_CHANGED, and one list', async (later) => {
      const { path, writer } = newFile(ITEMS, journalMode)
      const copy = copyOf(path, writer)
      const { until, errors, lists } = await mirrorOf(path, 'items')
      commits(writer, 20)
      await until(() => rowsOf(writer, 'items'))
      writer.close()
      await restore(copy, path)
      inProcess(path, COMMIT.repeat(later)) // In this process SQLite would use the files that are gone.
      await expect.poll(() => errors.map(({ code }) => code), { timeout: 8_000 }).toContain('EPOCH_CHANGED')
      inProcess(path, COMMIT)
      const next = opened(path)
      await until(() => rowsOf(next, 'items'))
      expect(lists()).toBe(2)
    })
  })

  test('[Z3] a file that was deleted is NOT_FOUND, and a file that takes its place is listed', async () => {
    const { path, writer } = newFile(ITEMS, journalMode)
    const copy = copyOf(path, writer)
    const { until, errors } = await mirrorOf(path, 'items')
    writer.close()
    for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true })
    await expect.poll(() => errors.at(-1)?.code, { timeout: 8_000 }).toBe('NOT_FOUND')
    copyFileSync(copy, path)
    const next = opened(path)
    commits(next, 3)
    await until(() => rowsOf(next, 'items'))
  })

  test('[Z3] a link that names another file is followed by the next connection', async () => {
    const [{ path, writer: old }, { path: other, writer }] = [newFile(ITEMS, journalMode), newFile(ITEMS, journalMode)]
    const link = join(dirname(path), 'link')
    symlinkSync(path, link)
    const { until } = await mirrorOf(link, 'items')
    rmSync(link)
    symlinkSync(other, link)
    commits(writer, 3)
    old.exec('CREATE TABLE more (v)') // The mirror lists.
    await until(() => rowsOf(writer, 'items'))
  })

  test('[Z3] a new epoch costs one list, and marks of the old one reject', async () => {
    const { path, writer } = newFile(ITEMS, journalMode)
    const { until, informer, lists } = await mirrorOf(path, 'items')
    const mark = sqliteSource({ connect: () => writer, table: 'items' }).mark(writer)
    startEpoch(writer)
    commits(writer, 1)
    await until(() => rowsOf(writer, 'items'))
    await expect.poll(lists, { timeout: 8_000 }).toBe(2)
    await expect(informer.waitFor(mark)).rejects.toThrow('another history')
  })

  test('[Z5] the mark of a transaction that was rolled back rejects when another one has its place', async () => {
    const { path, writer } = newFile(ITEMS, journalMode)
    const { informer } = await mirrorOf(path, 'items')
    const source = sqliteSource({ connect: () => writer, table: 'items' })
    writer.exec('BEGIN; UPDATE items SET v = 7 WHERE id = 1')
    const undone = source.mark(writer)
    writer.exec('ROLLBACK; UPDATE items SET v = 8 WHERE id = 1')
    await informer.waitFor(source.mark(writer))
    await expect(informer.waitFor(undone)).rejects.toThrow('its transaction was undone')
  })
})

test('[Z3] a mirror that may write begins another epoch if it finds another history, so that lost marks reject', async () => {
  const { path, writer } = newFile(ITEMS)
  const copy = copyOf(path, writer)
  const { until, informer, errors } = await mirrorOf(path, 'items', { connect: () => new DatabaseSync(path) })
  commits(writer, 20)
  const lost = sqliteSource({ connect: () => writer, table: 'items' }).mark(writer)
  await informer.waitFor(lost)
  writer.close()
  for (const suffix of ['-wal', '-shm']) rmSync(path + suffix, { force: true })
  renameSync(copy, path)
  const next = opened(path)
  await expect.poll(() => errors.map(({ code }) => code), { timeout: 8_000 }).toContain('EPOCH_CHANGED')
  commits(next, 60)
  await until(() => rowsOf(next, 'items'))
  await expect(informer.waitFor(lost)).rejects.toThrow('another history')
})

test('[Z3] if -wal and -shm are removed under a mirror, it reads the next commits', async () => {
  const { path, writer } = newFile(ITEMS)
  const { until } = await mirrorOf(path, 'items')
  await until(() => rowsOf(writer, 'items'))
  writer.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  writer.close()
  for (const suffix of ['-wal', '-shm']) rmSync(path + suffix, { force: true })
  inProcess(path, COMMIT.repeat(3))
  // Another connection of this process would read the files that are gone, as the mirror did.
  const twin = new DatabaseSync(':memory:')
  twin.exec(`${ITEMS};${COMMIT.repeat(3)}`)
  await until(() => rowsOf(twin, 'items'))
})

// On POSIX a close drops all locks that a process has on a file. The next program believes to be alone, and removes the WAL.
test.each([
  ['node:sqlite', 'better-sqlite3'],
  ['better-sqlite3', 'node:sqlite'],
])('[Z3] a mirror over %s reads the next commits after %s has closed the file in its process', async (own, other) => {
  const { path, writer } = newFile(ITEMS)
  const { until } = await mirrorOf(path, 'items', { connect: () => driver(own)(path) })
  commits(writer, 1)
  await until(() => rowsOf(writer, 'items'))
  writer.close()
  const second = driver(other)(path)
  second.prepare('SELECT * FROM items').all()
  second.close()
  for (let commit = 1; commit < 4; commit++) inProcess(path, COMMIT)
  const twin = new DatabaseSync(':memory:')
  twin.exec(`${ITEMS};${COMMIT.repeat(4)}`)
  await until(() => rowsOf(twin, 'items'))
})

test('a switch of the journal mode costs nothing', async () => {
  const { path, writer } = newFile(ITEMS, 'delete')
  const { until, lists, errors } = await mirrorOf(path, 'items')
  writer.exec('PRAGMA journal_mode = WAL')
  commits(writer, 3)
  await until(() => rowsOf(writer, 'items'))
  expect([lists(), errors]).toEqual([1, []])
})
