// Program 05 assumes services and their owners, and a function that publishes.
import { memorySource } from 'listwatch/memory'

const note = (text: string): void => void process.send?.({ type: 'note', note: text })
const owners = memorySource<{ id: string; email: string }>({
  name: 'owners',
  entries: [
    ['o1', { id: 'o1', email: 'one@example.com' }],
    ['o2', { id: 'o2', email: 'two@example.com' }],
  ],
})

Object.assign(globalThis, {
  serviceSource: memorySource<{ name: string; ownerId: string }>({
    name: 'services',
    entries: [
      ['web', { name: 'web', ownerId: 'o1' }],
      ['db', { name: 'db', ownerId: 'o2' }],
    ],
  }),
  ownerSource: owners,
  publish: async (service: string, email: string | undefined): Promise<void> => note(`publish ${service} ${email}`),
})

// An owner changes shortly after the first subscription.
setTimeout(() => owners.put('o1', { id: 'o1', email: 'new@example.com' }), 200)
