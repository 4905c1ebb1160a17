import { atMost, type Benchmark, contest, type Figure, inTurn, median, medianRatio } from './figures.ts'

const OBJECTS = 300_000
const ROUNDS = 5
/** The rounds of a comparison in one process. */
const SHORT_ROUNDS = 40
/** The informers of one process. */
const MANY = 10_000
/** A folder with the `dist` of another version, to compare with. */
const OTHER = process.env['LISTWATCH_BENCH_OTHER']

interface Result {
  readonly load: number
  readonly update: number
}

/** A contestant of `workers/rounds.ts`: nanoseconds for each event, and the same beside the first contestant. */
interface Rounds {
  readonly ns: number
  readonly ratio: number
  readonly added: number
}

const rounds = (...contestants: readonly string[]): Promise<readonly Rounds[]> =>
  contest('rounds', [String(SHORT_ROUNDS), ...contestants])

/** What a mirror adds to parsing and keeping, and what each kind of subscription and snapshot adds to a write. */
export const store: Benchmark = {
  name: 'store',
  about: `${OBJECTS} objects with three indexes against a bare JSON.parse + Map.set loop; events of 50000 objects`,
  async run() {
    const figures = [...(await againstFloor()), ...(await ofEvents()), await ofMany()]
    return OTHER === undefined ? figures : [...figures, ...(await againstOther(OTHER))]
  },
}

async function againstFloor(): Promise<readonly Figure[]> {
  const run = (contestant: string) => () => contest<Result>('store', [contestant, String(OBJECTS)])
  const contestants = {
    floor: run('floor'),
    byHand: run('by-hand'),
    informer: run('informer'),
    followed: run('followed'),
  }
  const { floor = [], byHand = [], informer = [], followed = [] } = await inTurn(ROUNDS, contestants)
  const figure = (title: string, results: readonly Result[], what: 'load' | 'update') => {
    const [ours = [], bare = [], manual = []] = [results, floor, byHand].map((all) => all.map((each) => each[what]))
    const peers = {
      'listwatch ns/object': Math.round(median(ours)),
      'floor ns/object': Math.round(median(bare)),
      'the same by hand ns/object': Math.round(median(manual)),
    }
    return atMost(1.3, { name: title, value: medianRatio(ours, bare), unit: '× the floor', peers })
  }
  return [
    figure('load, with one handler', informer, 'load'),
    figure('update of each object, with one handler', informer, 'update'),
    figure('load, with 4 handlers and 334 subscriptions by value', followed, 'load'),
    figure('update of each object, with 4 handlers and 334 subscriptions by value', followed, 'update'),
  ]
}

/** Informers of one name and one signal: the time of each must not depend on the number of the others. */
async function ofMany(): Promise<Figure> {
  const run = (count: number) => async () => (await contest<{ us: number }>('many', [String(count)])).us
  const { few = [], many = [] } = await inTurn(ROUNDS, { few: run(MANY / 10), many: run(MANY) })
  return atMost(2, {
    name: `start, one change and stop of each of ${MANY} informers`,
    value: medianRatio(many, few),
    unit: `× each of ${MANY / 10}`,
    peers: { 'µs each': Math.round(median(many)), [`µs each of ${MANY / 10}`]: Math.round(median(few)) },
  })
}

async function ofEvents(): Promise<readonly Figure[]> {
  const [alone, handler, others, own, stream] = await rounds(
    'watch alone',
    'watch 1',
    'watch others',
    'watch own',
    'watch stream',
  )
  const [, snapshots] = await rounds('apply 1', 'apply snapshots')
  const [enqueue] = await rounds('enqueue')
  const [subscribe] = await rounds('subscribe')
  const peers = { 'without ns/event': Math.round(alone?.ns ?? Number.NaN) }
  const added = (name: string, limit: number, result: Rounds | undefined): Figure =>
    atMost(limit, { name, value: (result?.added ?? Number.NaN) / 1_000, unit: 'µs added to an event', peers })
  const each = (name: string, limit: number, result: Rounds | undefined): Figure =>
    atMost(limit, { name, value: (result?.ns ?? Number.NaN) / 1_000, unit: 'µs', peers: {} })
  return [
    added('one handler', 2, handler),
    added('10000 subscriptions by value, none of which the event concerns', 1, others),
    added('10000 subscriptions by value, one of which the event concerns', 1, own),
    added('changes() in batches of one', 3, stream),
    each('a put with 1000 snapshots open', 10, snapshots),
    each('enqueue and run of a key', 2, enqueue),
    each('subscribe and close', 10, subscribe),
  ]
}

/** Two builds in one process. */
/** In two processes, with each build as the first: the second takes up to 6 % longer, also if both are the same build. */
async function againstOther(folder: string): Promise<readonly Figure[]> {
  const figures: Figure[] = []
  for (const job of ['watch 1', 'watch 10', 'watch 100', 'apply 1', 'apply 10', 'apply 100', 'load']) {
    const [other, now] = await rounds(`${job}@${folder}`, job)
    const [, otherAfter] = await rounds(job, `${job}@${folder}`)
    const value = Math.sqrt((now?.ratio ?? Number.NaN) / (otherAfter?.ratio ?? Number.NaN))
    const peers = { 'other ns/event': Math.round(other?.ns ?? Number.NaN) }
    figures.push(atMost(1.02, { name: job, value, unit: '× the other build', peers }))
  }
  return figures
}
