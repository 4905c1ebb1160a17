import type { WatchEvent } from '../../../src/contract/source.js'
import { assertVersion } from '../../../src/contract/version.js'
import { check } from './assertions.js'

/** Throws for values that are not events. */
export function checkEvents(events: unknown, call: 'list' | 'watch'): void {
  check(Array.isArray(events), `a ${call} yielded events that are not an array`)
  for (const event of events) checkEvent(event, call)
}

function checkEvent(event: WatchEvent<unknown>, call: 'list' | 'watch'): void {
  switch (event.type) {
    case 'put':
    case 'delete':
      check(typeof event.key === 'string', `a ${call} yielded a ${event.type} without a key`)
      break
    case 'invalid':
      check(event.error !== undefined, `a ${call} yielded an invalid event without an error`)
      break
    case 'replace':
      check(call === 'watch', 'a list yielded a replace')
      for (const { key } of event.entries) check(typeof key === 'string', 'an entry of a replace has no key')
      break
    default:
      check(false, `a ${call} yielded an event of the type ${String(Object(event).type)}`)
  }
}

export function checkVersion(version: unknown, of: string): asserts version is string {
  assertVersion(version, `the version of ${of}`)
}
