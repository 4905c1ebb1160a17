import { SourceError } from '../../src/contract/errors.js'
import type { WatchBatch } from '../../src/contract/source.js'
import { type Broken, events, pages, sequenceOf, type Watches } from './broken.js'
import type { Item } from './memory-harness.js'

export const brokenRecovery: readonly Broken[] = [
  {
    name: 'goes on from now where the history is gone',
    refusedBy: ['a history that was forgotten is VERSION_EXPIRED for a watch from before, which tells nothing'],
    because: /in vain for the end of the watch/,
    flaw: (memory) => ({
      watch: instead(memory.watch.bind(memory), 'VERSION_EXPIRED', async function* (context) {
        yield* memory.watch({ ...context, after: await memory.head() })
      }),
    }),
  },
  {
    name: 'tells what is left of the history before it says that it has expired',
    refusedBy: ['a history that was forgotten is VERSION_EXPIRED for a watch from before, which tells nothing'],
    because: /told 1 events before it ended/,
    flaw: (memory) => ({
      watch: instead(memory.watch.bind(memory), 'VERSION_EXPIRED', async function* ({ after }) {
        yield { events: [{ type: 'put', key: 'k0', object: { value: 'again' } }], version: after }
        throw new SourceError('expired', { code: 'VERSION_EXPIRED' })
      }),
    }),
  },
  {
    name: 'says once that the history is gone, and then goes on from now',
    refusedBy: ['a history that was forgotten stays expired, however often it is asked for'],
    because: /in vain for the end of the watch/,
    flaw: (memory) => {
      let times = 0
      return {
        watch: instead(memory.watch.bind(memory), 'VERSION_EXPIRED', async function* (context) {
          if (times++ === 0) throw new SourceError('expired', { code: 'VERSION_EXPIRED' })
          yield* memory.watch({ ...context, after: await memory.head() })
        }),
      }
    },
  },
  {
    name: 'names in its lists a version whose history is gone',
    refusedBy: ['a history that was forgotten does no harm to a list that is read afterwards, nor to a watch from it'],
    because: /the history was compacted/,
    flaw: (memory) => {
      let before: string | undefined
      return {
        list: pages(memory, (page) => [
          page.version === undefined ? page : { ...page, version: before ?? page.version },
        ]),
        subject: {
          compact: async () => {
            before = (await memory.head()).replace(/\d+$/, '0')
            memory.compact()
          },
        },
      }
    },
  },
  {
    name: 'falls silent when the history is forgotten',
    refusedBy: ['a history that was forgotten is either expired or of no concern to a watch that has told all of it'],
    because: /in vain for what was written/,
    flaw: (memory) => ({
      subject: {
        compact: () => {
          memory.compact()
          memory.stall()
        },
      },
    }),
  },
  {
    name: 'takes a version of another incarnation for its own',
    refusedBy: ['another incarnation is EPOCH_CHANGED for a watch from before, which tells nothing'],
    because: /in vain for the end of the watch/,
    flaw: (memory) => ({ watch: instead(memory.watch.bind(memory), 'EPOCH_CHANGED', fromNow(memory)) }),
  },
  {
    name: 'goes on in another incarnation as if nothing had happened',
    refusedBy: ['another incarnation ends a watch that is open, which tells nothing of it'],
    because: /in vain for the end of the watch/,
    flaw: (memory) => ({
      async *watch(context) {
        try {
          yield* memory.watch(context)
        } catch (error) {
          if (!(error instanceof SourceError) || error.code !== 'EPOCH_CHANGED') throw error
          yield* fromNow(memory)(context)
        }
      },
    }),
  },
  {
    name: 'names the incarnation that it saw first',
    refusedBy: ['another incarnation can be listed and watched like the first'],
    because: /the collection was restored/,
    flaw: (memory) => {
      let first: string | undefined
      return {
        list: pages(memory, (page) => {
          if (page.version === undefined) return [page]
          first ??= page.version
          return [{ ...page, version: first }]
        }),
      }
    },
  },
  {
    name: 'compares versions of two incarnations',
    refusedBy: ['another incarnation has versions that cannot be compared with those from before'],
    because: /across incarnations did not fail/,
    flaw: () => ({ hasReached: (at, mark) => sequenceOf(at) >= sequenceOf(mark) }),
  },
  {
    name: 'throws what its driver throws',
    refusedBy: [
      'a lost connection ends a watch with a SourceError that can be retried, and the next one loses nothing',
    ],
    because: /no SourceError: Error: read ECONNRESET/,
    flaw: (memory) => ({
      watch: instead(memory.watch.bind(memory), 'UNAVAILABLE', () => {
        throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
      }),
    }),
  },
  {
    name: 'leaves out what it cannot decode',
    refusedBy: [
      'an object that cannot be decoded is named as invalid by a list, which has all others',
      'an object that cannot be decoded is named as invalid by a watch, which goes on, until it is written or deleted',
    ],
    because: /does not name it as invalid|in vain for k1 to be invalid/,
    flaw: (memory) => events(memory, (event) => (event.type === 'invalid' ? undefined : event)),
  },
  {
    name: 'breaks off where it cannot decode',
    refusedBy: [
      'an object that cannot be decoded is named as invalid by a list, which has all others',
      'an object that cannot be decoded is named as invalid by a watch, which goes on, until it is written or deleted',
    ],
    because: /SyntaxError: it cannot be decoded/,
    flaw: (memory) =>
      events(memory, (event) => {
        if (event.type === 'invalid') throw event.error
        return event
      }),
  },
]

/** What is done in place of throwing an error of this code. */
function instead(watch: Watches, code: string, otherwise: Watches): Watches {
  return async function* (context): AsyncIterable<WatchBatch<Item>> {
    try {
      yield* watch(context)
    } catch (error) {
      if (!(error instanceof SourceError) || error.code !== code) throw error
      yield* otherwise(context)
    }
  }
}

function fromNow(memory: { watch: Watches; head(): Promise<string> }): Watches {
  return async function* (context) {
    yield* memory.watch({ ...context, after: await memory.head() })
  }
}
