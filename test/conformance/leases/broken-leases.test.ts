import { expect, test } from 'vitest'
import { leasesCases, leasesConformance } from '../../../testing/index.js'
import { type LeasesDefect, simpleLeases } from './simple-leases.js'

await leasesConformance('a store in memory', { create: simpleLeases() })

/** Each defect, with the case that must find it. */
const defects: Readonly<Record<LeasesDefect, string>> = {
  'creates a missing record': 'a later renewal is refused if the record does not exist, and writes nothing',
  'accepts renewal 0 again': 'renewal 0 is refused if the record exists',
  'accepts a repeated renewal': 'a repeated or lower renewal is refused, and changes nothing',
  'accepts a lower renewal': 'a repeated or lower renewal is refused, and changes nothing',
  'compares renewals as texts': 'renewals are compared as numbers, and may leave numbers out',
  'reads before it writes': 'of two renewals at the same time, at least one sees the other',
  'loses the last member': 'a group may have 50 members',
  'shares records between groups': 'two groups do not see each other',
  'drops holds': 'a view has all fields of the records of other members',
  'changes characters': 'strange characters in keys come back unchanged',
  'evicts whatever the renewal is': 'an eviction leaves a record with another renewal, and ignores a missing one',
  'never evicts': 'an eviction removes a record with this renewal, before the view is read',
  'evicts after the read': 'an eviction removes a record with this renewal, before the view is read',
  'evicts itself': 'an eviction of the member itself has no effect',
  'evicts although the renewal is refused': 'a refused renewal evicts no record',
  'keeps records that leave': 'leave removes the record, and does not fail without one',
  'fails to leave twice': 'leave removes the record, and does not fail without one',
  'repeats fences': 'a fence is greater than those of all requests that ended before',
  'begins fences again': 'a fence grows also after all members have left',
  'has an epoch per session': 'the epoch stays the same, for all members',
  'adds to ages': 'an age is never more than the time since the record was written',
  'knows no ages': 'an age grows while the record is not renewed',
  'calls no listener': 'watch calls its listener after another member joins',
  'ignores removals': 'watch calls its listener after another member leaves',
  'names members that claim keys': 'watch calls its listener after another member changes what it claims',
  'calls listeners without a limit': 'after its signal has aborted, watch calls its listener no more',
  'ignores the signal': 'a renewal whose signal has aborted rejects, and later ones succeed',
  'leaves when it is closed': 'two sessions of one store are two members',
}

test.each(Object.entries(defects))('a store that %s fails the case: %s', async (defect, name) => {
  const found = leasesCases.find((each) => each.name === name)
  expect(found, name).toBeDefined()
  await expect(found?.run({ create: simpleLeases(defect as LeasesDefect), timeoutMs: 1_000 })).rejects.toThrow()
})
