import type { WatchEvent } from '../../src/contract/source.js'
import type { Broken } from './broken.js'
import type { Item } from './memory-harness.js'

/** Sources that change a key, or lose it if the changed key is undefined. */
export const brokenKeys: readonly Broken[] = [
  mangling('keeps objects in an object literal', returned('__proto__'), (key) =>
    key === '__proto__' ? undefined : key,
  ),
  mangling('looks a key up with "in"', returned('constructor'), (key) => (key in {} ? undefined : key)),
  mangling('treats an empty key as missing', returned('of no characters'), (key) => key || undefined),
  mangling('cuts keys after 1 024 characters', returned('of 2 000 characters'), (key) => key.slice(0, 1_024)),
  mangling('trims keys', returned('of spaces'), (key) => key.trim()),
  mangling('treats a key as a path', returned('with slashes'), (key) => new URL(key, 'file:///').pathname.slice(1)),
  mangling('cuts a key at a separator', returned('with separators'), (key) => key.split(/[:|,;]/)[0]),
  mangling('doubles quotes', returned('with quotes'), (key) => key.replaceAll("'", "''")),
  mangling('reads lines', returned('with line breaks and tabs'), (key) => key.split('\n')[0]),
  mangling('ends a key at a NUL', returned('with a NUL'), (key) => key.split('\u0000')[0]),
  mangling('encodes keys as Latin-1', returned('of other scripts and emoji'), (key) =>
    Buffer.from(key, 'latin1').toString('latin1'),
  ),
  mangling('repairs characters', returned('that ends in an unpaired surrogate'), (key) => key.toWellFormed()),
  mangling('decodes keys', returned('that looks like JSON'), (key) =>
    key.startsWith('{') ? String(JSON.parse(key)) : key,
  ),
  mangling('treats the text null as a missing key', returned('"null"'), (key) => (key === 'null' ? undefined : key)),
  mangling('compares keys without case', 'similar keys are different', (key) => key.toLowerCase()),
]

function returned(key: string): string {
  return `a key ${key} is returned unchanged`
}

function mangling(name: string, failedCases: string, mangle: (key: string) => string | undefined): Broken {
  return {
    name,
    failedCases: [failedCases],
    because: /the list: .* is missing/,
    events: (event): WatchEvent<Item> | undefined => {
      if (event.type === 'replace') return event
      const key = mangle(event.key ?? '')
      return key === undefined ? undefined : { ...event, key }
    },
  }
}
