import { expect, test } from 'vitest'
import { leasesCases, leasesConformance } from '../../../testing/index.js'
import { defects, type LeasesDefect, simpleLeases } from './simple-leases.js'

await leasesConformance('a store in memory', { create: simpleLeases() })

test.each(Object.entries(defects))('a store that %s fails the case: %s', async (defect, name) => {
  const found = leasesCases.find((each) => each.name === name)
  expect(found, name).toBeDefined()
  await expect(found?.run({ create: simpleLeases(defect as LeasesDefect), timeoutMs: 1_000 })).rejects.toThrow()
})
