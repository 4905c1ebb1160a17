import type { WatchEvent } from '../../src/contract/source.js'
import { type Broken, events } from './broken.js'
import type { Item } from './memory-harness.js'

/** Sources that make another key of a key, or lose it where that gives none. */
export const brokenKeys: readonly Broken[] = [
  mangling('keeps objects in an object literal', '__proto__ comes back as it is', (key) =>
    key === '__proto__' ? undefined : key,
  ),
  mangling('asks "in" whether it knows a key', 'constructor comes back as it is', (key) =>
    key in {} ? undefined : key,
  ),
  mangling('takes no characters for no key', 'of no characters comes back as it is', (key) => key || undefined),
  mangling('has room for 1 024 characters', 'of 2 000 characters comes back as it is', (key) => key.slice(0, 1_024)),
  mangling('trims keys', 'of spaces comes back as it is', (key) => key.trim()),
  mangling('takes a key for a path', 'with slashes comes back as it is', (key) =>
    new URL(key, 'file:///').pathname.slice(1),
  ),
  mangling('keeps what is before a separator', 'with separators comes back as it is', (key) => key.split(/[:|,;]/)[0]),
  mangling('doubles quotes', 'with quotes comes back as it is', (key) => key.replaceAll("'", "''")),
  mangling('reads lines', 'with line breaks and tabs comes back as it is', (key) => key.split('\n')[0]),
  mangling('ends a key at a NUL', 'with a NUL comes back as it is', (key) => key.split('\u0000')[0]),
  mangling('knows bytes only', 'of other scripts and emoji comes back as it is', (key) =>
    Buffer.from(key, 'latin1').toString('latin1'),
  ),
  mangling('repairs characters', 'that ends in half a character comes back as it is', (key) => key.toWellFormed()),
  mangling('decodes keys', 'that looks like JSON comes back as it is', (key) =>
    key.startsWith('{') ? String(JSON.parse(key)) : key,
  ),
  mangling('takes the word for the value', 'null comes back as it is', (key) => (key === 'null' ? undefined : key)),
  mangling('compares keys without case', 'is not taken for another that looks like it', (key) => key.toLowerCase()),
]

function mangling(name: string, refusedBy: string, mangle: (key: string) => string | undefined): Broken {
  return {
    name,
    refusedBy: [`a key ${refusedBy}`],
    because: /the list: .* is missing/,
    flaw: (memory) =>
      events(memory, (event): WatchEvent<Item> | undefined => {
        if (event.type === 'replace') return event
        const key = mangle(event.key ?? '')
        return key === undefined ? undefined : { ...event, key }
      }),
  }
}
