import { type MemoryLeases, memoryLeases } from '../../../adapters/memory/index.js'
import { leasesConformance } from '../../../testing/index.js'

const groups = new Map<string, MemoryLeases>()

await leasesConformance('leases in memory', {
  create: (group) => {
    const leases = groups.get(group) ?? memoryLeases({ group })
    groups.set(group, leases)
    return leases
  },
})
