import type { Follower } from './follower.js'

/** What a response of a mirror sends: a watch, or the bytes of a chunk. */
export type DirectBody = Follower | Uint8Array

/** By the stream of the response. */
const direct = new WeakMap<ReadableStream, DirectBody>()

/**
 * Returns a response whose body can be sent without its stream. A read of a stream costs more than the delivery of a
 * small frame, and streams copy bytes.
 */
export function directResponse(body: DirectBody, headers: Readonly<Record<string, string>>): Response {
  const stream = body instanceof Uint8Array ? streamOfBytes(body) : streamOfFollower(body)
  direct.set(stream, body)
  return new Response(stream, { headers })
}

/** Returns what a response sends; undefined if only its stream is known, or if another reader has it. */
export function directBodyOf({ body }: Response): DirectBody | undefined {
  return body === null || body.locked ? undefined : direct.get(body)
}

/** The follower sends nothing before the first read, so that another sink may be attached instead. */
function streamOfFollower(follower: Follower): ReadableStream<Uint8Array> {
  let isAttached = false
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (isAttached) return follower.resume()
        isAttached = true
        follower.attach({
          write(frame) {
            controller.enqueue(frame)
            return (controller.desiredSize ?? 0) > 0
          },
          end: () => controller.close(),
        })
      },
      cancel: () => follower.close(),
    },
    { highWaterMark: 0 },
  )
}

function streamOfBytes(bytes: Uint8Array): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        controller.enqueue(bytes.slice()) // A reader may transfer it.
        controller.close()
      },
    },
    { highWaterMark: 0 },
  )
}
