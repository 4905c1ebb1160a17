import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { growthInAll, growthOfEach, type Load } from './growth.js'
import { slope } from './heap.js'
import { more, open } from './left.js'

const root = fileURLToPath(new URL('../..', import.meta.url))

describe('much of everything', () => {
  // It runs in a process of its own, whose heap, timers and listeners belong to it alone.
  test('[I12][I15] leaves nothing in the heap, nor a handle or a listener', { timeout: 1_200_000 }, async () => {
    const args = ['--import', './scripts/typescript.mjs', 'test/soak/main.ts', '50']
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root }).catch(
      (failed: { readonly stdout?: string; readonly stderr?: string }) => ({
        stdout: `failed: ${failed.stdout}${failed.stderr}`,
      }),
    )
    expect(stdout.split('\n').filter((line) => /failed|BROKEN/.test(line))).toEqual([])
    expect(stdout).toMatch(/left: nothing\n$/)
  })
})

describe('what judges the soak', () => {
  const ignore = (): void => {}
  const kept: number[] = []
  const load: Load = {
    what: 'number',
    count: 1_000_000,
    warmUp: 1_000,
    limit: 5,
    step: async () => {
      for (let i = 0; i < 1_000; i++) kept.push(kept.length)
    },
    counted: () => kept.length,
  }

  test('a number that is kept for each is too much', async () => {
    expect(await growthOfEach(load, ignore)).toMatchObject({ holds: false, count: 1_000_000 })
  })

  test('memory that is held during a run is detected, even if it is released at its end', async () => {
    let step = 0
    let lost: object[] = []
    const passing = async (): Promise<void> => {
      step += 10
      lost = step < 60 ? Array.from({ length: 50_000 }, () => ({})) : []
    }
    const ofPassing: Load = { ...load, count: 100, warmUp: 0, limit: 1e6, step: passing, counted: () => step }
    expect(await growthInAll(ofPassing, ignore, ignore)).toMatchObject({ holds: false, count: 100 })
    expect(lost).toEqual([])
  })

  test('what counts for nothing is refused', async () => {
    await expect(growthOfEach({ ...load, step: async () => {} }, ignore)).rejects.toThrow('nothing came of it')
  })

  test('a second handle of the same kind is seen', () => {
    const first = setTimeout(() => {}, 60_000)
    const before = open()
    const second = setTimeout(() => {}, 60_000)
    expect(more(before, open())).toEqual(['1 × Timeout'])
    clearTimeout(first)
    clearTimeout(second)
  })

  test('a slope is found', () => {
    const line = Array.from({ length: 8 }, (_, x) => [x * 100, 5_000 + x * 250 + (x % 2)] as const)
    expect(slope(line)).toBeCloseTo(2.5, 1)
    expect(slope([[1, 5]])).toBe(0)
  })
})
