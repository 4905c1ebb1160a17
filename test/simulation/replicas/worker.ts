import { serveWorlds } from '../runner/world-worker.js'

await serveWorlds('replicas', async () => (await import('./replica-world.js')).runReplicas)
