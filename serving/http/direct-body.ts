import { membersOf } from '../../src/util/type-guards.js'
import { Follower } from './follower.js'

/** A read of a stream costs more than the delivery of a small frame. So the body can be sent without its stream. */
export function directResponse(body: Follower, headers: Readonly<Record<string, string>>): Response {
  return new Response(Object.assign(streamOf(body), { follower: body }), { headers })
}

/** Returns the watch or list that a response sends; undefined if only its stream is known, or another reader has it. */
export function directBodyOf({ body }: Response): Follower | undefined {
  if (body === null || body.locked) return undefined
  const { follower } = membersOf(body)
  return follower instanceof Follower ? follower : undefined
}

/** The follower sends nothing before the first read, so that another sink may be attached instead. */
function streamOf(follower: Follower): ReadableStream<Uint8Array> {
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
