import { serveWorlds } from '../runner/world-worker.js'

await serveWorlds('share', async () => (await import('./share-world.js')).runShare)
