import { check, sourceErrorOf } from './assertions.js'
import { casesOf } from './case-builder.js'
import type { Trial } from './case-context.js'
import type { ConformanceCase } from './conformance-case.js'
import { fill } from './list-cases.js'
import type { Position, Watching } from './watch-recorder.js'

export const recoveryCases: readonly ConformanceCase[] = [
  ...casesOf('a history that was forgotten', [
    {
      name: 'is VERSION_EXPIRED for a watch from before, which tells nothing',
      needs: ['compaction'],
      async check(trial) {
        await fill(trial, 3)
        const listing = await trial.list()
        await trial.delete('k1')
        await trial.put('k0', 'again')
        await trial.hook('compact')
        await expectEnd(trial, listing, 'VERSION_EXPIRED')
      },
    },
    {
      name: 'stays expired, however often it is asked for',
      needs: ['compaction'],
      async check(trial) {
        const listing = await trial.list()
        await fill(trial, 3)
        await trial.hook('compact')
        await trial.put('k0', 'after')
        for (let times = 0; times < 3; times++) await expectEnd(trial, listing, 'VERSION_EXPIRED')
      },
    },
    {
      name: 'does no harm to a list that is read afterwards, nor to a watch from it',
      needs: ['compaction'],
      async check(trial) {
        await fill(trial, 3)
        await trial.hook('compact')
        const listing = await trial.list()
        trial.expectNow('the list', listing.contents.values)
        await trial.delete('k1')
        await trial.watch(listing).reaches(trial.now)
      },
    },
    {
      name: 'is either expired or of no concern to a watch that has told all of it',
      needs: ['compaction'],
      async check(trial) {
        const watching = trial.watch(await trial.list())
        await fill(trial, 3)
        await watching.reaches(trial.now)
        await trial.hook('compact')
        await trial.delete('k1')
        try {
          await watching.reaches(trial.now)
        } catch (error) {
          const { code } = await sourceErrorOf('the watch', Promise.reject(error))
          check(code === 'VERSION_EXPIRED', `the watch ended with ${code}`)
        }
        trial.expectStates('the watch', watching.trail)
      },
    },
  ]),
  ...casesOf('another incarnation', [
    {
      name: 'is EPOCH_CHANGED for a watch from before, which tells nothing',
      needs: ['epochs'],
      async check(trial) {
        await fill(trial, 3)
        const listing = await trial.list()
        await trial.hook('restore')
        await fill(trial, 5, 'after')
        await expectEnd(trial, listing, 'EPOCH_CHANGED')
      },
    },
    {
      name: 'ends a watch that is open, which tells nothing of it',
      needs: ['epochs'],
      async check(trial) {
        await fill(trial, 3)
        const watching = trial.watch(await trial.list())
        await trial.opened(watching)
        await trial.hook('restore')
        await trial.put('k1', 'of another incarnation')
        await expectOtherEpoch(trial, watching)
      },
    },
    {
      name: 'can be listed and watched like the first',
      needs: ['epochs'],
      async check(trial) {
        await fill(trial, 3)
        await trial.list()
        await trial.hook('restore')
        const listing = await trial.list()
        trial.expectNow('the list', listing.contents.values)
        await trial.delete('k1')
        await trial.watch(listing).reaches(trial.now)
      },
    },
    {
      name: 'has versions that cannot be compared with those from before',
      needs: ['epochs', 'hasReached'],
      async check(trial) {
        await fill(trial, 3)
        const before = (await trial.list()).version
        await trial.hook('restore')
        await fill(trial, 3, 'after')
        const after = (await trial.list()).version
        for (const [at, mark] of [
          [after, before],
          [before, after],
        ] as const) {
          const asking = async (): Promise<unknown> => trial.hasReached(at, mark)
          const { code } = await sourceErrorOf('hasReached() across incarnations', asking())
          check(code === 'EPOCH_CHANGED', `hasReached() across incarnations threw ${code}`)
        }
      },
    },
  ]),
  ...casesOf('a lost connection', [
    {
      name: 'ends a watch with a SourceError that can be retried, and the next one loses nothing',
      needs: ['outage'],
      async check(trial) {
        await fill(trial, 3)
        const watching = trial.watch(await trial.list())
        await trial.opened(watching)
        await trial.hook('disconnect')
        await trial.delete('k1')
        await trial.put('k0', 'while nobody looked')
        const code = await codeAtEnd(watching)
        check(code === 'UNAVAILABLE' || code === 'TIMEOUT', `the watch ended with ${code}`)
        const { version, contents } = watching
        await trial.watch({ version, contents }).reaches(trial.now)
      },
    },
  ]),
  ...casesOf('an object that cannot be decoded', [
    {
      name: 'is named as invalid by a list, which has all others',
      needs: ['corruption'],
      async check(trial) {
        await fill(trial, 3)
        await trial.corrupt('k1')
        const { contents } = await trial.list({ pageSize: 2 })
        trial.expectNow('the list', contents.values)
        check(contents.invalid.has(trial.keyOf('k1')), 'the list does not name it as invalid')
      },
    },
    {
      name: 'is named as invalid by a watch, which goes on, until it is written or deleted',
      needs: ['corruption'],
      async check(trial) {
        await fill(trial, 3)
        const watching = trial.watch(await trial.list())
        await trial.opened(watching)
        for (const key of ['k1', 'k2']) {
          await trial.corrupt(key)
          await watching.until(`${key} to be invalid`, () => watching.contents.invalid.has(trial.keyOf(key)))
        }
        await trial.write({ key: 'k1', value: 'good again' }, { key: 'k2', value: undefined })
        const isOver = (): boolean => watching.contents.invalid.size === 0
        await watching.until('the invalid objects to be over', isOver)
        await watching.reaches(trial.now)
      },
    },
  ]),
]

async function expectEnd(trial: Trial, from: Position, code: string): Promise<void> {
  await expectError(trial.watch(from), code)
}

/** The watch ends with this code, and tells nothing before. */
async function expectError(watching: Watching, expected: string): Promise<void> {
  const before = watching.batches.length
  const code = await codeAtEnd(watching)
  const told = watching.batches.slice(before).flatMap(({ events }) => events)
  check(code === expected, `the watch ended with ${code} instead of ${expected}`)
  check(told.length === 0, `the watch told ${told.length} events before it ended with ${code}`)
}

/** Where another incarnation is another process, the connection is lost first; then it is told when it is resumed. */
async function expectOtherEpoch(trial: Trial, watching: Watching): Promise<void> {
  const before = watching.batches.length
  const code = await codeAtEnd(watching)
  const told = watching.batches.slice(before).flatMap(({ events }) => events)
  check(told.length === 0, `the watch told ${told.length} events before it ended with ${code}`)
  if (code !== 'UNAVAILABLE' && code !== 'TIMEOUT') {
    check(code === 'EPOCH_CHANGED', `the watch ended with ${code} instead of EPOCH_CHANGED`)
    return
  }
  const { version, contents } = watching
  await expectEnd(trial, { version, contents }, 'EPOCH_CHANGED')
}

async function codeAtEnd(watching: Watching): Promise<string> {
  const error = await sourceErrorOf(
    'the watch',
    watching.until('the end of the watch', () => false),
  )
  return error.code
}
