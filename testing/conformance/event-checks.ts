import type { WatchEvent } from '../../src/contract/source.js'
import { assertVersion } from '../../src/contract/version.js'
import { check } from './assertions.js'

/** Refuses events that are none. */
export function checkEvents(events: unknown, where: 'list' | 'watch'): void {
  check(Array.isArray(events), `a ${where} gave something whose events are no array`)
  for (const event of events as readonly WatchEvent<unknown>[]) checkEvent(event, where)
}

function checkEvent(event: WatchEvent<unknown>, where: 'list' | 'watch'): void {
  switch (event.type) {
    case 'put':
    case 'delete':
      check(typeof event.key === 'string', `a ${where} gave a ${event.type} without a key`)
      break
    case 'invalid':
      check(event.error !== undefined, `a ${where} gave an invalid event without an error`)
      break
    case 'replace':
      check(where === 'watch', 'a list gave a replace')
      for (const { key } of event.entries) check(typeof key === 'string', 'an entry of a replace has no key')
      break
    default:
      check(false, `a ${where} gave an event of the type ${String((event as { readonly type?: unknown }).type)}`)
  }
}

export function checkVersion(version: unknown, of: string): asserts version is string {
  assertVersion(version, `the version of ${of}`)
}
