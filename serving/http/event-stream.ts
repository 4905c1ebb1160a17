import { SourceError } from '../../src/contract/errors.js'
import type { ReceivedBody } from './received-response.js'

/** An event with more characters than this is refused. A string of V8 has at most twice as many. */
const MAX_EVENT_CHARACTERS = 2 ** 28

export interface ServerSentEvent {
  readonly type: string
  readonly data: string
}

/**
 * Splits a response body into server-sent events, as the HTML standard defines them. Comments, ids and retry times are
 * ignored. The body is cancelled when the reader stops. Yields `undefined` if bytes have arrived, and the event that
 * they belong to has not ended: a large event can take longer than the time after which a silent watch is dead.
 *
 * @throws SourceError PROTOCOL if an event has more than `maxCharacters`.
 */
export async function* serverSentEvents(
  body: ReceivedBody,
  maxCharacters: number = MAX_EVENT_CHARACTERS,
): AsyncGenerator<ServerSentEvent | undefined, void> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  let type = ''
  let data: string[] = []
  let characters = 0
  try {
    for (;;) {
      const { value, done } = await reader.read()
      if (done) return
      // An event counts when it has ended, so one that the end of the body cuts off is dropped.
      const lines = decoder.decode(value, { stream: true }).split('\n')
      lines[0] = rest + lines[0]
      rest = lines.pop() ?? ''
      for (const raw of lines) {
        const line = raw.endsWith('\r') ? raw.slice(0, -1) : raw
        if (line === '') {
          if (data.length > 0) yield { type: type === '' ? 'message' : type, data: data.join('\n') }
          type = ''
          data = []
          characters = 0
        } else if (line.startsWith('data:')) {
          data.push(fieldOf(line, 5))
          characters += line.length
        } else if (line.startsWith('event:')) type = fieldOf(line, 6)
      }
      if (characters + rest.length > maxCharacters) {
        const message = `an event of the watch has more than ${maxCharacters} characters, which is the limit`
        throw new SourceError(message, { code: 'PROTOCOL' })
      }
      if (data.length > 0 || (rest !== '' && !rest.startsWith(':'))) yield undefined
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

function fieldOf(line: string, from: number): string {
  return line.slice(line[from] === ' ' ? from + 1 : from)
}
