import { SeededRandom } from 'listwatch/testing'

/** A flat row of ten fields, about 290 bytes of JSON. */
export interface Row {
  readonly namespace: string
  readonly name: string
  readonly uid: string
  readonly resourceVersion: string
  readonly node: string
  readonly phase: string
  readonly image: string
  readonly podIP: string
  readonly restarts: number
  readonly createdAt: string
}

const PHASES = ['Running', 'Running', 'Running', 'Running', 'Running', 'Running', 'Pending', 'Succeeded', 'Failed']

/**
 * `count` rows as JSON, keys in no order, and as many updates to random ones of them: one in five changes the phase, one in
 * twenty the node, each the version and the restarts.
 */
export function makeDataset(
  count: number,
  seed = 7,
): { readonly rows: readonly Buffer[]; readonly updates: readonly Buffer[] } {
  const random = new SeededRandom(seed)
  const now = Array.from({ length: count }, (_, i) => makeRow(i, random))
  const rows = now.map((row) => Buffer.from(JSON.stringify(row)))
  const updates = Array.from({ length: count }, (_, version) => {
    const i = random.below(count)
    const row = now[i] ?? makeRow(i, random)
    const { node, phase } = makeRow(i, random)
    const changed: Row = {
      ...row,
      resourceVersion: String(count + version),
      node: random.chance(0.05) ? node : row.node,
      phase: random.chance(0.2) ? phase : row.phase,
      restarts: row.restarts + 1,
    }
    now[i] = changed
    return Buffer.from(JSON.stringify(changed))
  })
  return { rows, updates }
}

function makeRow(i: number, random: SeededRandom): Row {
  const app = random.below(200)
  return {
    namespace: `team-${pad(i % 1_000, 4)}`,
    name: `app-${pad(Math.imul(i, 2_654_435_761) >>> 0, 10)}-${pad(i, 7)}`,
    uid: `${hex(random, 8)}-${hex(random, 4)}-4${hex(random, 3)}-a${hex(random, 3)}-${hex(random, 12)}`,
    resourceVersion: String(i),
    node: `ip-10-${pad(random.below(20), 3)}-${pad(random.below(250), 3)}.eu-west-1`,
    phase: random.pick(PHASES),
    image: `registry.example.com/app-${pad(app, 3)}:v1.${random.below(10)}`,
    podIP: `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`,
    restarts: random.below(5),
    createdAt: `2026-0${1 + random.below(8)}-1${random.below(10)}T12:${pad(random.below(60), 2)}:00Z`,
  }
}

export function keyOf(row: Row): string {
  return `${row.namespace}/${row.name}`
}

function pad(value: number, width: number): string {
  return String(value).padStart(width, '0')
}

function hex(random: SeededRandom, width: number): string {
  let text = ''
  while (text.length < width) text += random.below(0x10000).toString(16).padStart(4, '0')
  return text.slice(0, width)
}
