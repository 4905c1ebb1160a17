import { SourceError } from '../../src/contract/errors.js'
import { type Broken, fromNow, sequenceOf, type Watches } from './broken.js'

export const brokenRecovery: readonly Broken[] = [
  {
    name: 'resumes from the current version after the compaction',
    failedCases: ['a watch from before the compaction fails with VERSION_EXPIRED and delivers nothing'],
    because: /waiting for the end of the watch/,
    watch: instead('VERSION_EXPIRED', fromNow),
  },
  {
    name: 'delivers the rest of the history before VERSION_EXPIRED',
    failedCases: ['a watch from before the compaction fails with VERSION_EXPIRED and delivers nothing'],
    because: /delivered 1 events before it ended/,
    watch: instead('VERSION_EXPIRED', async function* (_memory, { after }) {
      yield { events: [{ type: 'put', key: 'k0', object: { value: 'again' } }], version: after }
      throw new SourceError('expired', { code: 'VERSION_EXPIRED' })
    }),
  },
  {
    name: 'throws VERSION_EXPIRED only once, and then resumes from the current version',
    failedCases: ['a version before the compaction is expired at every attempt'],
    because: /waiting for the end of the watch/,
    flaw: () => {
      let times = 0
      return {
        watch: instead('VERSION_EXPIRED', (memory, context) => {
          if (times++ === 0) throw new SourceError('expired', { code: 'VERSION_EXPIRED' })
          return fromNow(memory, context)
        }),
      }
    },
  },
  {
    name: 'lists with a version from before the compaction',
    failedCases: ['a list after the compaction works, and so does a watch from it'],
    because: /the history was compacted/,
    flaw: ({ memory }) => {
      let before: string | undefined
      return {
        pages: (page) => [page.version === undefined ? page : { ...page, version: before ?? page.version }],
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
    name: 'becomes silent after the compaction',
    failedCases: ['an open watch that is up to date continues after the compaction, or fails with VERSION_EXPIRED'],
    because: /waiting for the written values/,
    flaw: ({ memory }) => ({
      subject: {
        compact: () => {
          memory.compact()
          memory.stall()
        },
      },
    }),
  },
  {
    name: 'accepts a version of another incarnation, also in an open watch',
    failedCases: [
      'a watch from another incarnation fails with EPOCH_CHANGED and delivers nothing',
      'an open watch ends at a new incarnation and delivers none of its changes',
    ],
    because: /waiting for the end of the watch/,
    watch: instead('EPOCH_CHANGED', fromNow),
  },
  {
    name: 'lists with a version of the first incarnation',
    failedCases: ['a new incarnation can be listed and watched'],
    because: /the collection was restored/,
    flaw: () => {
      let first: string | undefined
      return {
        pages: (page) => {
          if (page.version === undefined) return [page]
          first ??= page.version
          return [{ ...page, version: first }]
        },
      }
    },
  },
  {
    name: 'compares versions of two incarnations',
    failedCases: ['hasReached() throws EPOCH_CHANGED for versions of two incarnations'],
    because: /across incarnations did not fail/,
    hasReached: (at, mark) => sequenceOf(at) >= sequenceOf(mark),
  },
  {
    name: 'throws the errors of its driver',
    failedCases: ['a lost connection ends a watch with a transient SourceError, and the next watch loses nothing'],
    because: /not a SourceError: Error: read ECONNRESET/,
    watch: instead('UNAVAILABLE', () => {
      throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
    }),
  },
  {
    name: 'omits undecodable objects',
    failedCases: [
      'a list reports an undecodable object as invalid and contains all others',
      'a watch reports an undecodable object as invalid and continues until it is written or deleted',
    ],
    because: /does not report it as invalid|waiting for k1 to be invalid/,
    events: (event) => (event.type === 'invalid' ? undefined : event),
  },
  {
    name: 'fails at an undecodable object',
    failedCases: [
      'a list reports an undecodable object as invalid and contains all others',
      'a watch reports an undecodable object as invalid and continues until it is written or deleted',
    ],
    because: /SyntaxError: it cannot be decoded/,
    events: (event) => {
      if (event.type === 'invalid') throw event.error
      return event
    },
  },
]

/** Continues with `otherwise` instead of throwing an error of this code. */
function instead(code: string, otherwise: Watches): Watches {
  return async function* (memory, context) {
    try {
      yield* memory.watch(context)
    } catch (error) {
      if (!(error instanceof SourceError) || error.code !== code) throw error
      yield* otherwise(memory, context)
    }
  }
}
