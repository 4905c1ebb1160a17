import { expect, test } from 'vitest'
import { VersionOrigins } from '../../../../adapters/kubernetes/history/version-origins.js'

test.each([
  ['the cluster that issued it, once for each record', 'here'],
  ['another cluster as long as that one has issued the same version', 'before'],
])('a recorded version is from %s', (_which, origin) => {
  const held = new VersionOrigins()
  held.record('7', origin)
  held.record('7', 'here')
  expect([1, 2, 3].map(() => held.take('7', 'here'))).toEqual([origin, origin, undefined])
})

test('a recorded version is forgotten after a thousand others', () => {
  const held = new VersionOrigins()
  for (let version = 1; version <= 1_001; version++) held.record(String(version), 'here')
  expect([held.take('1', 'here'), held.take('2', 'here')]).toEqual([undefined, 'here'])
})
