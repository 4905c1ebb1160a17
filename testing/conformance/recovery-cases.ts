import { check, sourceErrorOf } from './assertions.js'
import { buildCases } from './case-builder.js'
import type { CaseContext } from './case-context.js'
import { writeMany } from './case-helpers.js'
import type { ConformanceCase } from './conformance-case.js'
import type { Position, WatchRecorder } from './watch-recorder.js'

export const recoveryCases: readonly ConformanceCase[] = [
  ...buildCases('a history that was forgotten', [
    {
      name: 'is VERSION_EXPIRED for a watch from before, which tells nothing',
      needs: ['compaction'],
      async check(context) {
        await writeMany(context, 3)
        const listing = await context.list()
        await context.delete('k1')
        await context.put('k0', 'again')
        await context.callHook('compact')
        await expectEnd(context, listing, 'VERSION_EXPIRED')
      },
    },
    {
      name: 'stays expired, however often it is asked for',
      needs: ['compaction'],
      async check(context) {
        const listing = await context.list()
        await writeMany(context, 3)
        await context.callHook('compact')
        await context.put('k0', 'after')
        for (let times = 0; times < 3; times++) await expectEnd(context, listing, 'VERSION_EXPIRED')
      },
    },
    {
      name: 'does no harm to a list that is read afterwards, nor to a watch from it',
      needs: ['compaction'],
      async check(context) {
        await writeMany(context, 3)
        await context.callHook('compact')
        const listing = await context.list()
        context.expectCurrent('the list', listing.contents.values)
        await context.delete('k1')
        await context.watch(listing).untilEqual(context.current)
      },
    },
    {
      name: 'is either expired or of no concern to a watch that has told all of it',
      needs: ['compaction'],
      async check(context) {
        const watch = context.watch(await context.list())
        await writeMany(context, 3)
        await watch.untilEqual(context.current)
        await context.callHook('compact')
        await context.delete('k1')
        try {
          await watch.untilEqual(context.current)
        } catch (error) {
          const { code } = await sourceErrorOf('the watch', Promise.reject(error))
          check(code === 'VERSION_EXPIRED', `the watch ended with ${code}`)
        }
        context.expectStates('the watch', watch.positions)
      },
    },
  ]),
  ...buildCases('another incarnation', [
    {
      name: 'is EPOCH_CHANGED for a watch from before, which tells nothing',
      needs: ['epochs'],
      async check(context) {
        await writeMany(context, 3)
        const listing = await context.list()
        await context.callHook('restore')
        await writeMany(context, 5, 'after')
        await expectEnd(context, listing, 'EPOCH_CHANGED')
      },
    },
    {
      name: 'ends a watch that is open, which tells nothing of it',
      needs: ['epochs'],
      async check(context) {
        await writeMany(context, 3)
        const watch = context.watch(await context.list())
        await context.untilOpen(watch)
        await context.callHook('restore')
        await context.put('k1', 'of another incarnation')
        await expectOtherEpoch(context, watch)
      },
    },
    {
      name: 'can be listed and watched like the first',
      needs: ['epochs'],
      async check(context) {
        await writeMany(context, 3)
        await context.list()
        await context.callHook('restore')
        const listing = await context.list()
        context.expectCurrent('the list', listing.contents.values)
        await context.delete('k1')
        await context.watch(listing).untilEqual(context.current)
      },
    },
    {
      name: 'has versions that cannot be compared with those from before',
      needs: ['epochs', 'hasReached'],
      async check(context) {
        await writeMany(context, 3)
        const before = (await context.list()).version
        await context.callHook('restore')
        await writeMany(context, 3, 'after')
        const after = (await context.list()).version
        for (const [at, mark] of [
          [after, before],
          [before, after],
        ] as const) {
          const asking = async (): Promise<unknown> => context.hasReached(at, mark)
          const { code } = await sourceErrorOf('hasReached() across incarnations', asking())
          check(code === 'EPOCH_CHANGED', `hasReached() across incarnations threw ${code}`)
        }
      },
    },
  ]),
  ...buildCases('a lost connection', [
    {
      name: 'ends a watch with a SourceError that can be retried, and the next one loses nothing',
      needs: ['outage'],
      async check(context) {
        await writeMany(context, 3)
        const watch = context.watch(await context.list())
        await context.untilOpen(watch)
        await context.callHook('disconnect')
        await context.delete('k1')
        await context.put('k0', 'while nobody looked')
        const code = await endCode(watch)
        check(code === 'UNAVAILABLE' || code === 'TIMEOUT', `the watch ended with ${code}`)
        await context.watch(watch.position()).untilEqual(context.current)
      },
    },
  ]),
  ...buildCases('an object that cannot be decoded', [
    {
      name: 'is named as invalid by a list, which has all others',
      needs: ['corruption'],
      async check(context) {
        await writeMany(context, 3)
        await context.corrupt('k1')
        const { contents } = await context.list({ pageSize: 2 })
        context.expectCurrent('the list', contents.values)
        check(contents.invalid.has(context.keyOf('k1')), 'the list does not name it as invalid')
      },
    },
    {
      name: 'is named as invalid by a watch, which goes on, until it is written or deleted',
      needs: ['corruption'],
      async check(context) {
        await writeMany(context, 3)
        const watch = context.watch(await context.list())
        await context.untilOpen(watch)
        for (const key of ['k1', 'k2']) {
          await context.corrupt(key)
          await watch.until(`${key} to be invalid`, () => watch.contents.invalid.has(context.keyOf(key)))
        }
        await context.write({ key: 'k1', value: 'good again' }, { key: 'k2', value: undefined })
        const isOver = (): boolean => watch.contents.invalid.size === 0
        await watch.until('the invalid objects to be over', isOver)
        await watch.untilEqual(context.current)
      },
    },
  ]),
]

/** The watch from this position ends with this code and delivers no event. */
async function expectEnd(context: CaseContext, from: Position, expected: string): Promise<void> {
  const code = await endWithoutEvents(context.watch(from))
  check(code === expected, `the watch ended with ${code} instead of ${expected}`)
}

/** If the new incarnation is a new process, the watch loses its connection first, and the resumed watch fails. */
async function expectOtherEpoch(context: CaseContext, watch: WatchRecorder): Promise<void> {
  const code = await endWithoutEvents(watch)
  if (code === 'UNAVAILABLE' || code === 'TIMEOUT') await expectEnd(context, watch.position(), 'EPOCH_CHANGED')
  else check(code === 'EPOCH_CHANGED', `the watch ended with ${code} instead of EPOCH_CHANGED`)
}

/** Reads the watch to its error, without an event in between. Returns the error's code. */
async function endWithoutEvents(watch: WatchRecorder): Promise<string> {
  const before = watch.batches.length
  const code = await endCode(watch)
  const count = watch.batches.slice(before).flatMap(({ events }) => events).length
  check(count === 0, `the watch delivered ${count} events before it ended with ${code}`)
  return code
}

async function endCode(watch: WatchRecorder): Promise<string> {
  const end = watch.until('the end of the watch', () => false)
  return (await sourceErrorOf('the watch', end)).code
}
