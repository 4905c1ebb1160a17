import { statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { fileCache } from '../../caches/file/index.js'
import { waitUntil } from '../servers/wait-until.js'
import { Child } from '../support/child.js'
import { root } from '../support/sources.js'
import { generationOf } from './generation.js'
import { contextOf, folder, type Loaded, load, mirrorOf, temporaries } from './support.js'

const ROUNDS = 24 * Number(process.env['LISTWATCH_RUNS'] ?? 1)

/** A process that saves generations: the first one, and each `step` later. */
function saver(path: string, first: number, step = 1): Child {
  const program = ['--import', join(root, 'scripts/typescript.mjs'), join(root, 'test/file-cache/saver.ts')]
  return new Child(process.execPath, [...program, path, `${first}`, `${step}`])
}

async function generationAt(path: string): Promise<number> {
  const loaded: Loaded | undefined = await load(fileCache({ path }), contextOf({ fingerprint: 'f' }))
  const generation = Number(loaded?.version)
  expect(loaded?.records).toEqual(generationOf(generation).records())
  return generation
}

function written(path: string): number {
  const [name] = temporaries(path)
  return (name !== undefined && statSync(join(path, name), { throwIfNoEntry: false })?.size) || 0
}

test('a process that is killed at any moment of a save leaves its last complete file', async () => {
  const path = folder()
  const file = join(path, 'a.cache')
  let saved = 0
  let leftBehind = 0
  for (let round = 0; round < ROUNDS; round++) {
    await using child = saver(file, saved + 1)
    await child.until(() => child.lines.length >= 1 + (round % 3), 'the first saves')
    if (round % 4 > 0) {
      const bytes = (round * 50_021) % 1_000_000
      await waitUntil('the next save', () => written(path) > bytes)
    }
    child.kill('SIGKILL')
    await child.ended
    leftBehind += temporaries(path).length
    const generation = await generationAt(file)
    expect(generation).toBeGreaterThanOrEqual(Number(child.lines.at(-1)))
    saved = generation
  }
  expect(leftBehind).toBeGreaterThan(ROUNDS / 4) // Kills have hit saves.
  await fileCache({ path: file }).save(mirrorOf([]), contextOf())
  expect(temporaries(path)).toEqual([])
})

test('of two processes with one path, the file is always a complete one of either', async () => {
  const path = folder()
  const file = join(path, 'a.cache')
  await using even = saver(file, 2, 2)
  await using odd = saver(file, 1, 2)
  const isUnderWay = (child: Child): boolean => child.lines.length > 0
  await even.until(() => isUnderWay(even), 'the first save of one')
  await odd.until(() => isUnderWay(odd), 'the first save of the other')
  const seen = new Set<number>()
  while (seen.size < 30) seen.add(await generationAt(file))
  expect(new Set([...seen].map((each) => each % 2))).toEqual(new Set([0, 1]))
  expect([even.errors, odd.errors]).toEqual(['', ''])
})
