import { writeMany } from './case-helpers.js'
import type { ConformanceCase } from './conformance-case.js'
import { printable } from './expected-contents.js'
import { check, checkVersion } from './run/assertions.js'
import { buildCases, needs } from './run/case-builder.js'
import { SkipCase } from './run/case-context.js'

const BIG = 'big ü '.repeat(150_000)

export const objectCases: readonly ConformanceCase[] = buildCases('objects', [], {
  'an object of 1 MiB is complete in a list and in a watch': needs(['bigObjects'], async (context) => {
    await context.put('listed', BIG)
    const listing = await context.list()
    context.expectCurrent('the list', listing.contents.values)
    const watch = context.watch(listing)
    await context.put('watched', BIG)
    await watch.untilEqual(context.current)
  }),
  'an object does not change after the source yielded it': async (context) => {
    await writeMany(context, 3)
    const listing = await context.list()
    const watch = context.watch(listing)
    await context.write({ key: 'k0', value: 'again' }, { key: 'k1', value: undefined })
    await watch.untilEqual(context.current)
    const seen = [...listing.pages, ...watch.batches].flatMap(({ events }) => events)
    const before = seen.map(fingerprint)
    await context.write({ key: 'k0', value: 'and again' }, { key: 'k2', value: 'too' })
    await watch.untilEqual(context.current)
    await context.list()
    const changed = seen.findIndex((event, at) => fingerprint(event) !== before[at])
    check(changed < 0, `an event was changed after it had been handed over: it was ${before[changed]}`)
  },
  'two states of an object with the same version are equal': async (context) => {
    const values = new Map<string, string>()
    const note = (key: string, version: string | undefined, object: unknown): void => {
      if (version === undefined) return
      const id = JSON.stringify([key, version])
      const value = context.subject.read(object)
      check((values.get(id) ?? value) === value, `${printable(key)} has the version ${version} for two values`)
      values.set(id, value)
    }
    await writeMany(context, 3)
    const listing = await context.list()
    const watch = context.watch(listing)
    await context.write({ key: 'k0', value: 'one' }, { key: 'k0', value: 'two' }, { key: 'k1', value: 'one' })
    await context.put('k0', 'three')
    await watch.untilEqual(context.current)
    for (const { events } of [...listing.pages, ...watch.batches, ...(await context.list()).pages]) {
      for (const event of events) {
        if (event.type === 'put') note(event.key, event.version, event.object)
        else if (event.type === 'replace') for (const each of event.entries) note(each.key, each.version, each.object)
      }
    }
    if (values.size === 0) throw new SkipCase('objects of this source have no versions')
  },
  'an object has the same uid in lists and watches, and another uid after it was recreated': async (context) => {
    await context.put('k', 'first')
    const listing = await context.list()
    const watch = context.watch(listing)
    await context.put('k', 'changed')
    await watch.untilEqual(context.current)
    const changed = uidOf(watch.batches)
    await context.delete('k')
    await watch.untilEqual(context.current)
    await context.put('k', 'another')
    await watch.untilEqual(context.current)
    const uids = [uidOf(listing.pages), changed, uidOf(watch.batches), uidOf((await context.list()).pages)]
    const [first, second, third, fourth] = uids
    if (first === undefined) throw new SkipCase('objects of this source have no uids')
    check(first === second, `a changed object has another uid: ${first}, then ${second}`)
    check(second !== third, `a recreated object has the uid of the object before it: ${third}`)
    check(third === fourth, `the watch yields the uid ${third}, the list ${fourth}`)
  },
  'an object has the same version in lists and in versions()': needs(['versions'], async (context) => {
    await writeMany(context, 7)
    await context.write({ key: 'k2', value: 'again' }, { key: 'k4', value: undefined })
    const listed = new Map<string, string | undefined>()
    for (const { events } of (await context.list()).pages) {
      for (const event of events) if (event.type === 'put') listed.set(event.key, event.version)
    }
    const { keys, version } = await context.versions()
    checkVersion(version, 'the last page of versions()')
    const differing = [...new Set([...keys.keys(), ...listed.keys()])].find((key) => keys.get(key) !== listed.get(key))
    check(differing === undefined, `versions() and a list disagree on ${printable(differing ?? '')}`)
  }),
})

/** Returns the uid of the last event that has one. */
function uidOf(parts: readonly { readonly events: readonly object[] }[]): string | undefined {
  const last = parts.flatMap(({ events }) => events).findLast((event) => 'uid' in event)
  return last !== undefined && 'uid' in last ? String(last.uid) : undefined
}

function fingerprint(event: unknown): string {
  return JSON.stringify(event, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value))
}
