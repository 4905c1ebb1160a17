import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { succeeds, waitUntil } from '../servers/wait-until.js'
import type { Follower } from './follower.js'

/** Writes again and again until it is disposed of, one write after the other. A write that fails is repeated, for 2 s at the end. */
export class Load implements AsyncDisposable {
  written = 0
  readonly #stopping = new AbortController()
  readonly #running: Promise<void>

  constructor(write: (n: number) => Promise<unknown>) {
    this.#running = this.#run(write)
  }

  /** Resolves after this many further writes. */
  async more(writes: number): Promise<void> {
    const wanted = this.written + writes
    await waitUntil(`${writes} writes`, () => this.written >= wanted)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort()
    await this.#running
  }

  async #run(write: (n: number) => Promise<unknown>): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      for (let left = 100; left > 0 && !(await succeeds(write(this.written))); await sleep(20))
        if (signal.aborted) left--
      this.written++
      await sleep(2)
    }
  }
}

export interface Rotation {
  readonly write: (n: number) => Promise<unknown>
  /** From now on the server accepts only the credentials of this number, and it has ended all connections. */
  readonly rotate: (number: number) => Promise<unknown>
  /** From now on the program has the credentials of this number. At first it has those of 0, which the server accepts. */
  readonly adopt: (number: number) => void
  /** The number of relists that this takes. Default 0. */
  readonly relists?: number
}

/**
 * Replaces credentials twice while a writer writes. The program has the first new ones only after a refusal, and the
 * second before the server requires them. The mirror then equals the backend. Resolves with the number of refusals
 * after the second.
 */
export async function followRotations<T>(
  stage: Follower<T>,
  { write, rotate, adopt, relists = 0 }: Rotation,
): Promise<number> {
  let refusals = 0
  await stage.live()
  {
    await using load = new Load(write)
    await load.more(20)
    await rotate(1)
    await stage.until('the refusal', () => stage.codes.includes('UNAUTHORIZED'))
    adopt(1)
    await stage.until('the watch to be live again', () => stage.informer.status.state === 'live')
    await load.more(20)
    refusals = refusalsOf(stage)
    adopt(2)
    await rotate(2)
    await load.more(20)
  }
  await stage.healed()
  expect(stage.relists).toBe(relists)
  return refusalsOf(stage) - refusals
}

function refusalsOf<T>({ codes }: Follower<T>): number {
  return codes.filter((code) => code === 'UNAUTHORIZED').length
}
