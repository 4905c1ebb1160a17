import { describe, expect, test } from 'vitest'
import { VersionOrigins } from '../../../../adapters/kubernetes/history/version-origins.js'

describe('a recorded version', () => {
  test('is from the cluster that issued it, once for each record', () => {
    const held = new VersionOrigins()
    held.record('7', 'here')
    held.record('7', 'here')
    expect([held.take('7', 'here'), held.take('7', 'here'), held.take('7', 'here')]).toEqual([
      'here',
      'here',
      undefined,
    ])
  })

  test('is from another cluster as long as that one has issued the same version', () => {
    const held = new VersionOrigins()
    held.record('7', 'before')
    held.record('7', 'here')
    expect([held.take('7', 'here'), held.take('7', 'here'), held.take('7', 'here')]).toEqual([
      'before',
      'before',
      undefined,
    ])
  })

  test('is forgotten after a thousand others', () => {
    const held = new VersionOrigins()
    for (let version = 1; version <= 1_001; version++) held.record(String(version), 'here')
    expect([held.take('1', 'here'), held.take('2', 'here')]).toEqual([undefined, 'here'])
  })
})
