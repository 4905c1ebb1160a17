import { writeMany } from './case-helpers.js'
import type { ConformanceCase } from './conformance-case.js'
import { check, sourceErrorOf } from './run/assertions.js'
import { buildCases, needs } from './run/case-builder.js'
import type { CaseContext } from './run/case-context.js'
import type { Position, WatchRecorder } from './run/watch-recorder.js'

export const recoveryCases: readonly ConformanceCase[] = [
  ...buildCases('compaction', ['compaction'], {
    'a watch from before the compaction fails with VERSION_EXPIRED and delivers nothing': async (context) => {
      await writeMany(context, 3)
      const listing = await context.list()
      await context.delete('k1')
      await context.put('k0', 'again')
      await context.subject.compact?.()
      await expectEnd(context, listing, 'VERSION_EXPIRED')
    },
    'a version before the compaction is expired at every attempt': async (context) => {
      const listing = await context.list()
      await writeMany(context, 3)
      await context.subject.compact?.()
      await context.put('k0', 'after')
      for (let times = 0; times < 3; times++) await expectEnd(context, listing, 'VERSION_EXPIRED')
    },
    'a list after the compaction works, and so does a watch from it': async (context) => {
      await writeMany(context, 3)
      await context.subject.compact?.()
      await listAndWatch(context)
    },
    'an open watch that is up to date continues after the compaction, or fails with VERSION_EXPIRED': async (
      context,
    ) => {
      const watch = context.watch(await context.list())
      await writeMany(context, 3)
      await watch.untilEqual(context.current)
      await context.subject.compact?.()
      await context.delete('k1')
      try {
        await watch.untilEqual(context.current)
      } catch (error) {
        const { code } = await sourceErrorOf('the watch', Promise.reject(error))
        check(code === 'VERSION_EXPIRED', `the watch ended with ${code}`)
      }
      context.expectStates('the watch', watch.positions)
    },
  }),
  ...buildCases('incarnations', ['epochs'], {
    'a watch from another incarnation fails with EPOCH_CHANGED and delivers nothing': async (context) => {
      await writeMany(context, 3)
      const listing = await context.list()
      await context.subject.restore?.()
      await writeMany(context, 5, 'after')
      await expectEnd(context, listing, 'EPOCH_CHANGED')
    },
    'an open watch ends at a new incarnation and delivers none of its changes': async (context) => {
      await writeMany(context, 3)
      const watch = await context.openWatch()
      await context.subject.restore?.()
      await context.put('k1', 'of another incarnation')
      await expectOtherEpoch(context, watch)
    },
    'a new incarnation can be listed and watched': async (context) => {
      await writeMany(context, 3)
      await context.list()
      await context.subject.restore?.()
      await listAndWatch(context)
    },
    'hasReached() throws EPOCH_CHANGED for versions of two incarnations': needs(['hasReached'], async (context) => {
      await writeMany(context, 3)
      const before = (await context.list()).version
      await context.subject.restore?.()
      await writeMany(context, 3, 'after')
      const after = (await context.list()).version
      for (const [at, mark] of [
        [after, before],
        [before, after],
      ] as const) {
        const compare = async (): Promise<unknown> => context.hasReached(at, mark)
        const { code } = await sourceErrorOf('hasReached() across incarnations', compare())
        check(code === 'EPOCH_CHANGED', `hasReached() across incarnations threw ${code}`)
      }
    }),
  }),
  ...buildCases('connections', ['outage'], {
    'a lost connection ends a watch with a transient SourceError, and the next watch loses nothing': async (
      context,
    ) => {
      await writeMany(context, 3)
      const watch = await context.openWatch()
      await context.subject.disconnect?.()
      await context.delete('k1')
      await context.put('k0', 'while disconnected')
      const code = await endCode(watch)
      check(code === 'UNAVAILABLE' || code === 'TIMEOUT', `the watch ended with ${code}`)
      await context.watch(watch.position()).untilEqual(context.current)
    },
  }),
  ...buildCases('invalid objects', ['corruption'], {
    'a list reports an undecodable object as invalid and contains all others': async (context) => {
      await writeMany(context, 3)
      await context.corrupt('k1')
      const { contents } = await context.list({ pageSize: 2 })
      context.expectCurrent('the list', contents.values)
      check(contents.invalid.has(context.keyOf('k1')), 'the list does not report it as invalid')
    },
    'a watch reports an undecodable object as invalid and continues until it is written or deleted': async (
      context,
    ) => {
      await writeMany(context, 3)
      const watch = await context.openWatch()
      for (const key of ['k1', 'k2']) {
        await context.corrupt(key)
        await watch.until(`${key} to be invalid`, () => watch.contents.invalid.has(context.keyOf(key)))
      }
      await context.write({ key: 'k1', value: 'good again' }, { key: 'k2', value: undefined })
      const areValid = (): boolean => watch.contents.invalid.size === 0
      await watch.until('no object to be invalid', areValid)
      await watch.untilEqual(context.current)
    },
  }),
]

async function listAndWatch(context: CaseContext): Promise<void> {
  const listing = await context.list()
  context.expectCurrent('the list', listing.contents.values)
  await context.delete('k1')
  await context.watch(listing).untilEqual(context.current)
}

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
