import { expect, test } from 'vitest'
import {
  encodeGtidSet,
  formatGtidPosition,
  hasReachedGtid,
  parseDomainGtid,
  parseGtid,
  parseGtidPosition,
  parseGtidSet,
  withDomainGtid,
} from '../../../../adapters/mysql/gtid.js'

const A = '11111111-2222-3333-4444-555555555555'
const B = '99999999-2222-3333-4444-555555555555'

test.each([`${A}:0`, `${A}:5-3`, `${A}:1-9007199254740992`, 'x:1', `${A}:1x`, `${A}:-1`, `${A}1:1`, '0-1-5'])(
  'a set of GTIDs is not %j',
  (text) => {
    expect(parseGtidSet(text)).toBeUndefined()
  },
)

test('a set of GTIDs is encoded with an excluded end, and with tags only if there is one', () => {
  const [id, hex] = [A.replaceAll('-', ''), (n: number) => n.toString(16).padStart(2, '0').padEnd(16, '0')]
  const encoded = (text: string) => encodeGtidSet(parseGtidSet(text) ?? new Map()).toString('hex')
  expect(encoded('')).toBe(hex(0))
  expect(encoded(`${A}:1-5:9`)).toBe([hex(1), id, hex(2), hex(1), hex(6), hex(9), hex(10)].join(''))
  const tagged = [id, '00', hex(1), hex(1), hex(2), id, '04', '6162', hex(1), hex(3), hex(4)].join('')
  expect(encoded(`${A}:1:ab:3`)).toBe(`0102000000000001${tagged}`)
})

test.each([
  [`${A}:5`, { origin: A, number: 5 }],
  [`${A}:tag:5`, { origin: `${A}:tag`, number: 5 }],
  [`${A}:5-6`, undefined],
  [`${A}:5:7`, undefined],
  [`${A}:5,${B}:1`, undefined],
  ['', undefined],
])('the GTID of MySQL %j is parsed', (text, gtid) => {
  expect(parseGtid(text)).toEqual(gtid)
})

test.each([
  ['0-1-17', { domain: 0, server: 1, sequence: 17 }],
  ['0-1', undefined],
  ['0-1-99999999999999999999', undefined],
  ['0-1-1,1-1-1', undefined],
])('the GTID of MariaDB %j is parsed', (text, gtid) => {
  expect(parseDomainGtid(text)).toEqual(gtid)
})

test('a position of MariaDB has reached the earlier transactions of its domains, of every server', () => {
  const position = parseGtidPosition('10-1-5,0-1-17') ?? new Map()
  expect(formatGtidPosition(position)).toBe('0-1-17,10-1-5')
  const reached = (text: string) => hasReachedGtid(position, parseDomainGtid(text) ?? expect.unreachable(text))
  expect(['0-1-17', '0-2-16', '0-1-18', '10-1-5', '3-1-1'].map(reached)).toEqual([true, true, false, true, false])
  expect(formatGtidPosition(withDomainGtid(position, { domain: 0, server: 2, sequence: 18 }))).toBe('0-2-18,10-1-5')
  expect(parseGtidPosition('0-1-x')).toBeUndefined()
})
