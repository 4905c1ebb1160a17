import { atMost, type Benchmark, contest } from './figures.ts'

const OBJECTS = 100_000
const PERIOD_MS = 10_000

interface Result {
  /** Milliseconds of CPU time each second. */
  readonly cpu: number
  /** Audits each minute. */
  readonly audits: number
}

/** How much of a core audits use, and how often they run: their rest is at least 100 times as long as their reading. */
export const audit: Benchmark = {
  name: 'audit',
  about: `${OBJECTS} objects without changes, audited every ${PERIOD_MS / 1_000} s against pages of keys and versions as JSON`,
  async run() {
    const run = (contestant: string) => contest<Result>('audit', [contestant, String(OBJECTS), String(PERIOD_MS)])
    const [without, audited] = [await run('without'), await run('with')]
    const added = audited.cpu - without.cpu
    const peers = {
      's between audits': Math.round(60 / audited.audits),
      'CPU ms/audit': Math.round((added * 60) / audited.audits),
    }
    return [atMost(1, { name: 'share of a core that audits use', value: added / 10, unit: '%', peers })]
  },
}
