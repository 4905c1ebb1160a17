import { hasMethods } from '../shared/properties.js'

interface DataStream {
  listeners(event: 'data'): readonly unknown[]
  on(event: 'data', listener: (chunk: unknown) => void): unknown
  off(event: 'data', listener: unknown): unknown
}

/**
 * Calls `onError` with an error of pg's parser, which would end the process: pg parses in a listener of the stream. The
 * parser throws for a text that is longer than a string can be, and for messages that are cut off.
 */
export function guardParser(stream: unknown, onError: (error: unknown) => void): void {
  if (!isDataStream(stream)) return
  for (const listener of stream.listeners('data')) {
    if (typeof listener !== 'function') continue
    stream.on('data', (chunk) => {
      try {
        Reflect.apply(listener, stream, [chunk])
      } catch (error) {
        onError(error)
      }
    })
    stream.off('data', listener)
  }
}

function isDataStream(stream: unknown): stream is DataStream {
  return hasMethods(stream, 'listeners', 'on', 'off')
}
