// Finds or fetches the real servers that tests use: npm run servers
import './typescript.mjs'

const { provision } = await import('../test/servers/provision.ts')
const isComplete = await provision((text) => process.stdout.write(text))
process.exitCode = isComplete ? 0 : 1
