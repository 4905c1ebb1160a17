import { serveWorlds } from '../runner/world-worker.js'

await serveWorlds('relay', async () => (await import('./relay-world.js')).runRelays)
