import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** Starts a server of `workers/` in another process, so that its time and memory do not count. It prints its port as JSON. */
export async function startServer(
  worker: string,
  args: readonly string[],
): Promise<{ readonly port: number; stop(): void }> {
  const path = fileURLToPath(new URL(`workers/${worker}.ts`, import.meta.url))
  const child = spawn(process.execPath, [path, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  const port = await new Promise<number>((resolve, reject) => {
    child.on('error', reject)
    child.on('exit', (code) => reject(new Error(`the server ended with code ${code}`)))
    child.stdout.setEncoding('utf8').on('data', (text: string) => resolve((JSON.parse(text) as { port: number }).port))
  })
  return { port, stop: () => child.kill() }
}
