import { expect, test } from 'vitest'
import { includesMark } from '../../../../adapters/postgres/postgres-version.js'

// Transaction 7 runs, 8 has ended, and 9 is the next one. Against a server, other clients may begin transactions meanwhile.
test.each([
  ['includes the transaction that ended last', 'pgm1.1.2.e.8', true],
  ['does not include a transaction that was running then', 'pgm1.1.2.e.7', false],
  ['does not include the first transaction after its snapshot', 'pgm1.1.2.e.9', false],
  ['includes its own snapshot', 'pgs1.1.2.e.7:9:7', true],
  ['does not include the head after the commit of a transaction that was running then', 'pgs1.1.2.e.9:9:', false],
])('a version %s', (_, mark, isIncluded) => {
  expect(includesMark('pg1.1.2.e.g.s..7:9:7', mark)).toBe(isIncluded)
})
