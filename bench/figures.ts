import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** One measured figure, beside what it is held against. */
export interface Figure {
  readonly name: string
  readonly value: number
  readonly unit: string
  /** What it should be, in words: "≤ 1.3". */
  readonly goal: string
  readonly holds: boolean
  /** The same job by others, in their own units. */
  readonly peers: Readonly<Record<string, number>>
}

/** A group of figures that one run measures. */
export interface Benchmark {
  readonly name: string
  readonly about: string
  run(): Promise<readonly Figure[]>
}

/** Runs a contestant in a process of its own, so that none shares a heap. Returns the JSON that it prints. */
export function contest<R>(
  worker: string,
  args: readonly string[],
  flags: readonly string[] = ['--expose-gc', '--max-semi-space-size=64'],
): Promise<R> {
  return new Promise((resolve, reject) => {
    const path = fileURLToPath(new URL(`workers/${worker}.ts`, import.meta.url))
    const child = spawn(process.execPath, [...flags, path, ...args], {
      env: { ...process.env, NODE_ENV: 'production' },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
    child.on('error', reject)
    child.on('close', (code) => {
      const last = output.trim().split('\n').at(-1) ?? ''
      if (code === 0) resolve(JSON.parse(last) as R)
      else reject(new Error(`${worker} ${args.join(' ')} ended with code ${code}`))
    })
  })
}

/**
 * Runs the contestants one after the other, `rounds` times, so that a slow machine slows all of them. Every second round has the
 * opposite order, so that no contestant always follows the same one.
 */
export async function inTurn<R>(
  rounds: number,
  contestants: Readonly<Record<string, () => Promise<R>>>,
): Promise<Readonly<Record<string, readonly R[]>>> {
  const results: Record<string, R[]> = {}
  for (let round = 0; round < rounds; round++) {
    const order = Object.entries(contestants)
    for (const [name, run] of round % 2 === 0 ? order : order.reverse()) {
      results[name] ??= []
      results[name].push(await run())
    }
  }
  return results
}

/** The middle of the ratios a/b, round by round. */
export function medianRatio(a: readonly number[], b: readonly number[]): number {
  return median(a.map((value, round) => value / (b[round] ?? Number.NaN)))
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((x, y) => x - y)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? at(sorted, middle) : (at(sorted, middle - 1) + at(sorted, middle)) / 2
}

/** A figure that should be at most `limit`. */
export function atMost(limit: number, figure: Omit<Figure, 'goal' | 'holds'>): Figure {
  return { ...figure, goal: `≤ ${limit}`, holds: figure.value <= limit }
}

/** A figure that should be at least `limit`. */
export function atLeast(limit: number, figure: Omit<Figure, 'goal' | 'holds'>): Figure {
  return { ...figure, goal: `≥ ${limit}`, holds: figure.value >= limit }
}

function at(values: readonly number[], i: number): number {
  return values[i] ?? Number.NaN
}
