import type { AdapterMutant } from './adapter-mutant.js'

const at = (file: string): string => `../adapters/http/${file}.ts`

export const httpMutants: readonly AdapterMutant[] = [
  {
    name: 'a connection that drains does not continue its watch',
    breaks: 'A reader that was slow receives the rest.',
    file: at('node-listener'),
    edits: [["      outgoing.once('drain', resume)\n", '']],
    test: 'unit/http/delivery.test.ts',
    named: 'a watch over a connection that does not drain receives the rest',
  },
  {
    name: 'a frame that arrives during a delivery waits for the next one',
    breaks: 'Each frame is sent to every follower at once.',
    file: at('mirror-feed'),
    edits: [['} while (delivered !== this.#log.last)', '} while (delivered < 0)']],
    test: 'unit/http/delivery.test.ts',
    named: 'frames that arrive while earlier ones are sent in slices reach every follower',
  },
  {
    name: 'a watch is never dropped, however far its reader is behind',
    breaks: 'A follower whose next frame was removed lists again.',
    file: at('follower'),
    edits: [['else if (frame === undefined) this.end(', 'else if (frame === undefined) return void (']],
    test: 'unit/http/serve-mirror.test.ts',
    named: 'whose reader does not read ends with VERSION_EXPIRED',
  },
]
