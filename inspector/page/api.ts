import { useEffect, useRef, useState } from 'preact/hooks'
import type { Inspection } from '../../src/informer/observation/inspect-types.js'
import type { ObjectPage, ObjectRows, Sample } from '../informer-page.js'
import type { ObjectField } from '../object-fields.js'
import type { Facet } from '../object-query.js'

export interface InformerItem extends Sample {
  readonly name: string
  readonly indexes: readonly string[]
}

export interface Selection {
  readonly text: string
  readonly values: Readonly<Record<string, string>>
  /** A field, with `-` in front for the descending order. Empty: the key. */
  readonly sort: string
}

export class RequestError extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

type Parameters = Readonly<Record<string, string | number>>

async function read<V>(path: string, parameters: Parameters = {}, more = '', signal?: AbortSignal): Promise<V> {
  const query = new URLSearchParams(Object.entries(parameters).map(([name, value]) => [name, String(value)]))
  const response = await fetch(`/api/${path}?${query}${more}`, { signal: signal ?? null })
  const body = await response.json()
  if (!response.ok) throw new RequestError(response.status, String(body.error))
  return body
}

export async function openSession(): Promise<void> {
  const token = new URLSearchParams(location.hash.slice(1)).get('token')
  if (token === null) return
  history.replaceState(null, '', location.pathname)
  await fetch('/api/session', { headers: { Authorization: `Bearer ${token}` } })
}

export const readInformers = (): Promise<readonly InformerItem[]> => read('informers')

export const readStatus = (informer: string): Promise<Inspection> => read('status', { informer })

export const readFacets = (informer: string): Promise<readonly Facet[]> => read('facets', { informer })

export const readFields = (informer: string): Promise<readonly ObjectField[]> => read('fields', { informer })

export const readObject = (informer: string, key: string): Promise<ObjectPage> => read('object', { informer, key })

export function readRows(
  informer: string,
  { text, values, sort }: Selection,
  columns: readonly string[],
  offset: number,
  limit: number,
  signal: AbortSignal,
): Promise<ObjectRows> {
  const ofIndexes = Object.fromEntries(Object.entries(values).map(([name, value]) => [`by.${name}`, value]))
  const fields = columns.map((path) => `&field=${encodeURIComponent(path)}`).join('')
  return read('objects', { ...ofIndexes, informer, q: text, sort, offset, limit }, fields, signal)
}

/** Returns a function that calls `run`. During a call it only notes that another one has to follow. */
export function oneAtATime(run: () => Promise<void>): () => void {
  let [isPending, isDue] = [false, false]
  const next = async (): Promise<void> => {
    isDue = isPending
    if (isPending) return
    isPending = true
    await run()
    isPending = false
    if (isDue) void next()
  }
  return () => void next()
}

/** What `read` has returned last. It is called again for another subject and at each revision. A failure is not shown. */
export function useRead<V>(read: () => Promise<V>, subject: string, revision: unknown): V | undefined {
  const [value, setValue] = useState<V | undefined>(undefined)
  const current = useRef<() => void>(() => {})
  useEffect(() => {
    let isLeft = false
    current.current = oneAtATime(async () => {
      if (isLeft) return
      await read().then(
        (result) => isLeft || setValue(() => result),
        () => {},
      )
    })
    return () => {
      isLeft = true
    }
  }, [subject])
  useEffect(() => current.current(), [subject, revision])
  return value
}
