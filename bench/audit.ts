import { atMost, type Benchmark, contest, inTurn, median } from './figures.ts'

const OBJECTS = 100_000
const PERIOD_MS = 10_000
const ROUNDS = 3

interface Result {
  /** Milliseconds of CPU time each second. */
  readonly cpu: number
  readonly audits: number
}

/** How much of a core audits use. */
export const audit: Benchmark = {
  name: 'audit',
  about: `${OBJECTS} objects without changes, audited every ${PERIOD_MS / 1_000} s against pages of keys and versions as JSON`,
  async run() {
    const run = (contestant: string) => () => contest<Result>('audit', [contestant, String(OBJECTS), String(PERIOD_MS)])
    const { with: audited = [], without = [] } = await inTurn(ROUNDS, { with: run('with'), without: run('without') })
    const [cpu, idle] = [audited, without].map((results) => median(results.map((each) => each.cpu)))
    const share = ((cpu ?? Number.NaN) - (idle ?? Number.NaN)) / 10
    const peers = { 'audits/min': Math.round(median(audited.map(({ audits }) => audits))) }
    return [atMost(1, { name: 'share of a core that audits use', value: share, unit: '%', peers })]
  },
}
