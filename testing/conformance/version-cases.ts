import { check, sourceErrorOf } from './assertions.js'
import { casesOf } from './case-builder.js'
import { SkipCase, type Trial } from './case-context.js'
import type { ConformanceCase } from './conformance-case.js'
import { checkVersion } from './event-checks.js'
import { areEqual } from './expected-contents.js'
import { fill } from './list-cases.js'
import type { Watching } from './watch-recorder.js'

export const versionCases: readonly ConformanceCase[] = casesOf('a version', [
  {
    name: 'is printable ASCII of at most 64 KiB, in lists, batches and bookmarks',
    async check(trial) {
      checkVersion((await trial.list()).version, 'the list of an empty collection')
      const watching = await busy(trial)
      for (const { version } of watching.batches) checkVersion(version, 'a batch')
      checkVersion((await trial.list()).version, 'a list')
    },
  },
  {
    name: 'of any batch is safe to resume from: nothing after it is lost',
    async check(trial) {
      const watching = await busy(trial)
      await trial.write({ key: 'late', value: 'x' }, { key: 'k0', value: undefined })
      for (const cut of spread(watching.trail, 25)) {
        const resumed = trial.watch(cut)
        await resumed.reaches(trial.now)
        const began = trial.expectStates('where the watch was broken off', [cut])
        trial.expectStates(`the watch that was resumed at ${cut.version}`, resumed.trail, began)
        await resumed.stop()
      }
    },
  },
  {
    name: 'of a batch without events says that all up to it was told',
    async check(trial) {
      const watching = trial.watch(await trial.list())
      await trial.opened(watching)
      for (let round = 0; round < 12; round++) {
        const next = watching.next('a batch')
        const writing = trial.write({ key: `k${round % 3}`, value: `round ${round}` })
        watching.requestProgress()
        await writing
        await next
      }
      await watching.reaches(trial.now)
      for (const at of watching.trail.filter((_, number) => (watching.batches[number - 1]?.events.length ?? 1) === 0)) {
        const resumed = trial.watch(at)
        await resumed.reaches(trial.now)
        await resumed.stop()
      }
    },
  },
  {
    name: 'resumed from after deletes were missed tells the deletes',
    async check(trial) {
      await fill(trial, 5)
      const listing = await trial.list()
      const watching = trial.watch(listing)
      await trial.opened(watching)
      const { version, contents } = watching
      await watching.stop()
      await trial.write({ key: 'k1', value: undefined }, { key: 'k2', value: undefined })
      await trial.put('k2', 'made anew')
      await trial.delete('k4')
      await trial.watch({ version, contents }).reaches(trial.now)
      await trial.watch(listing).reaches(trial.now)
    },
  },
  {
    name: 'of long ago and one of now can be resumed from at the same time',
    async check(trial) {
      const old = await trial.list()
      await fill(trial, 5)
      const recent = await trial.list()
      await trial.delete('k2')
      const [behind, ahead] = [trial.watch(old), trial.watch(recent)]
      await ahead.reaches(trial.now)
      await behind.reaches(trial.now)
      const told = ahead.batches.flatMap(({ events }) => events).filter(({ type }) => type !== 'replace')
      check(told.length <= 1, `the watch from a recent version told ${told.length} events; one had happened`)
    },
  },
  {
    name: 'includes itself, and what came before it, but not what came later',
    needs: ['hasReached'],
    async check(trial) {
      const versions: string[] = []
      for (let round = 0; round < 5; round++) {
        versions.push((await trial.list()).version)
        await trial.write({ key: 'k', value: `round ${round}` })
      }
      for (const [at, version] of versions.entries()) {
        for (const [mark, other] of versions.entries()) {
          const has = trial.hasReached(version, other)
          check(has === at >= mark, `hasReached says ${has} of list ${at} and the version of list ${mark}`)
        }
      }
    },
  },
  {
    name: 'of a watch never goes back',
    needs: ['hasReached'],
    async check(trial) {
      const { trail } = await busy(trial)
      for (const [at, { version }] of trail.entries()) {
        const before = trail[at - 1]?.version ?? version
        check(trial.hasReached(version, before), `the watch went back from ${before} to ${version}`)
      }
    },
  },
  {
    name: 'that head() gives is included exactly when what was committed before is there',
    needs: ['hasReached', 'head'],
    async check(trial) {
      const before = await trial.list()
      await fill(trial, 3)
      const head = await trial.head()
      const written = trial.states.length - 1
      check(!trial.hasReached(before.version, head), 'a list from before a write includes the head after it')
      check(trial.hasReached((await trial.list()).version, head), 'a list does not include the head before it')
      const watching = trial.watch(before)
      await watching.until('the head', () => trial.hasReached(watching.version, head))
      trial.expectStates('what a watch holds that has reached the head', [watching], written)
    },
  },
  {
    name: 'that a writer is given is included exactly when what it wrote is there',
    needs: ['hasReached'],
    async check(trial) {
      const watching = trial.watch(await trial.list())
      for (let round = 0; round < 5; round++) {
        const { version } = watching
        const mark = await trial.write({ key: 'k', value: `round ${round}` })
        if (mark === undefined) throw new SkipCase('the writers of this source are given no marks')
        check(!trial.hasReached(version, mark), 'a version from before a write includes its mark')
        await watching.until('the mark of a write', () => trial.hasReached(watching.version, mark))
        check(areEqual(watching.values, trial.now), 'the mark of a write is included, and the write is not there')
      }
    },
  },
  {
    name: 'that is none of this source is refused as PROTOCOL',
    needs: ['hasReached'],
    async check(trial) {
      const { version } = await trial.list()
      const asking = async (): Promise<unknown> => trial.hasReached(version, 'no version of anybody')
      const { code } = await sourceErrorOf('hasReached() with nonsense', asking())
      check(code === 'PROTOCOL', `hasReached() with nonsense threw ${code}`)
    },
  },
])

/** A watch that has seen some life: writes, deletes, bookmarks between them. */
export async function busy(trial: Trial): Promise<Watching> {
  await fill(trial, 3)
  const watching = trial.watch(await trial.list())
  await trial.opened(watching)
  for (let round = 0; round < 12; round++) {
    await trial.write(
      { key: `k${round % 4}`, value: `round ${round}` },
      { key: `k${(round + 2) % 4}`, value: round % 3 === 0 ? undefined : `with ${round}` },
    )
    if (round % 2 === 0) await watching.reaches(trial.now)
    if (round % 4 === 0 && trial.has('progressRequests')) {
      watching.requestProgress()
      await watching.next('the answer to a progress request')
    }
  }
  await watching.reaches(trial.now)
  return watching
}

/** At most so many of them, the first and the last among them. */
export function spread<V>(all: readonly V[], count: number): readonly V[] {
  if (all.length <= count) return all
  return Array.from({ length: count }, (_, at) => all[Math.round((at * (all.length - 1)) / (count - 1))]).filter(
    (each) => each !== undefined,
  )
}
