import type { AdapterMutant } from './adapter-mutant.js'

const at = (file: string): string => `../adapters/http/${file}.ts`

export const httpMutants: readonly AdapterMutant[] = [
  {
    name: 'a frame of an unknown type is skipped',
    breaks: 'A follower that did not receive a change lists again.',
    file: at('http-source'),
    edits: [['.sequence !== ++sequence)', '.sequence <= sequence++)']],
    test: 'unit/http/other-versions.test.ts',
    named: 'a frame of an unknown type costs a list',
  },
  {
    name: 'an object that is missing is undefined',
    breaks: 'An object in a form that is not known is invalid.',
    file: at('event-json'),
    edits: [["encoded === undefined && !('object' in fields)", 'fields === undefined']],
    test: 'unit/http/other-versions.test.ts',
    named: 'without an object is invalid after a list',
  },
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
    name: 'a scope that has no `where` by mistake selects all objects',
    breaks: 'A scope that is not one serves no objects.',
    file: at('serve-mirror'),
    edits: [['    assertScope(scope)\n', '']],
    test: 'unit/http/wrong-scopes.test.ts',
    named: 'a scope that is',
  },
  {
    name: 'a watch is never dropped, however far its reader is behind',
    breaks: 'A follower whose next frame was removed lists again.',
    file: at('follower'),
    edits: [['else if (frame === undefined) this.end(', 'else if (frame === undefined) return void (']],
    test: 'unit/http/serve-mirror.test.ts',
    named: 'whose reader does not read ends with VERSION_EXPIRED',
  },
  {
    name: 'a request does not wait while a large commit of several sources is queued',
    breaks: 'The version for `fresh` includes what the served informer shows.',
    file: at('mirror-feed'),
    edits: [['const isRouted = !isRouting && ', 'const isRouted = ']],
    test: 'unit/http/http-races.test.ts',
    named: 'of several sources, requests wait while a large commit is queued',
  },
  {
    name: 'a part of a list is named by the position of the list',
    breaks: 'A follower never receives parts of two lists.',
    file: at('mirror-feed'),
    edits: [['number: ++lists', 'number: after']],
    test: 'unit/http/http-races.test.ts',
    named: 'a part of a list that was dropped after lost access is not one of a later list',
  },
  {
    name: 'an object that a list has changed arrives with its version',
    breaks: 'Followers compare the content of an object that changed without another version.',
    file: at('mirror-feed'),
    edits: [["type === 'update' && origin === 'relist' ? rest : entry", 'entry']],
    test: 'unit/http/followers.test.ts',
    named: 'has an object that a list of the mirror has changed without another version',
  },
  {
    name: 'the list after the end of an epoch does not count',
    breaks: 'Requests are answered again after the list that follows an `EPOCH_CHANGED`.',
    file: at('serve-mirror'),
    edits: [
      [
        "      if (state === 'connecting' && before[name]?.state.endsWith('listing') === true) this.#endedEpochs.delete(name)\n",
        '',
      ],
    ],
    test: 'unit/http/http-races.test.ts',
    named: 'of several sources, an error of another one does not repeat the end of an epoch',
  },
]
