import type { SourceErrorCode } from '../../src/contract/errors.js'
import { directResponse } from './direct-body.js'
import type { Follower } from './follower.js'
import { UNKNOWN_FEED } from './http-version.js'

/** A response with server-sent events. nginx passes them on at once. */
export function events(body: Follower, caching: string): Response {
  return directResponse(body, {
    'content-type': 'text/event-stream',
    'cache-control': caching,
    'x-accel-buffering': 'no',
  })
}

/** The id of the request, which the response repeats: a follower knows that no cache has answered. */
export function repeated({ searchParams }: URL): { readonly request?: string } {
  const request = searchParams.get('request')
  return request === null ? {} : { request }
}

/** With the id of the feed, a follower knows how many servers have answered. */
export function ofOtherFeed({ id }: { readonly id: string }): Response {
  return failure(410, UNKNOWN_FEED, 'the version is of another server or scope', { feed: id })
}

export function failure(
  status: number,
  code: SourceErrorCode | typeof UNKNOWN_FEED,
  message: string,
  details: object = {},
): Response {
  const headers = { 'cache-control': 'no-store', ...(status === 503 && { 'retry-after': '1' }) }
  return Response.json({ error: message, code, ...details }, { status, headers })
}
