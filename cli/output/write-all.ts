import { once } from 'node:events'

const CHUNK = 64 * 1_024

/** Writes the texts to stdout in parts, and waits for its reader. An abort ends it. */
export async function writeAll(texts: Iterable<string>, signal: AbortSignal): Promise<void> {
  let chunk = ''
  for (const text of texts) {
    chunk += text
    if (chunk.length < CHUNK) continue
    await write(chunk, signal)
    if (signal.aborted) return
    chunk = ''
  }
  await write(chunk, signal)
}

async function write(text: string, signal: AbortSignal): Promise<void> {
  if (text !== '' && !process.stdout.write(text)) await once(process.stdout, 'drain', { signal }).catch(() => {})
}

export function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
