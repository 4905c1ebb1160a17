/** What a replica notes about a run. Times are microseconds of the clock of the machine. */
export interface Note {
  /** `valid`: at this time or later the signal of the run was seen, and was not aborted. */
  readonly type: 'start' | 'valid' | 'end' | 'refused while valid'
  readonly at: number
  readonly replica: string
  readonly run: number
  readonly key?: string
  readonly fence?: number | undefined
}

interface Run {
  readonly name: string
  readonly key: string
  readonly fence: number
  readonly replica: string
  readonly from: number
  /** When its signal was last seen, and was not aborted. */
  until: number
}

/** Returns the violations in the runs of several replicas: runs of a key at the same time, and fences that do not grow. */
export function flawsOf(notes: readonly Note[]): string[] {
  const flaws: string[] = []
  const runs = new Map<string, Run>()
  for (const { type, at, replica, run, key = '', fence = Number.NaN } of notes) {
    const name = `run ${run} of ${replica}`
    if (type === 'start') runs.set(name, { name, key, fence, replica, from: at, until: at })
    const known = runs.get(name)
    if (type === 'valid' && known !== undefined) known.until = Math.max(known.until, at)
    if (type === 'refused while valid') flaws.push(`${name}: a write was refused, and then its signal was not aborted`)
  }
  for (const [key, ofKey] of Map.groupBy(runs.values(), ({ key: each }) => each)) {
    ofKey.sort((a, b) => a.from - b.from)
    for (const [at, later] of ofKey.entries()) {
      for (const earlier of ofKey.slice(0, at)) {
        const both = `${key}: ${earlier.name}, ${later.name}`
        if (earlier.until > later.from) flaws.push(`${both}: both ran for ${earlier.until - later.from} µs`)
        const isGrown = earlier.replica === later.replica ? later.fence >= earlier.fence : later.fence > earlier.fence
        if (!isGrown) flaws.push(`${both}: the fence ${later.fence} follows ${earlier.fence}`)
      }
    }
  }
  return flaws
}
