import type { Inspection } from '../../src/informer/observation/inspect-types.js'
import type { ObjectPage, ObjectRows, Sample } from '../informer-page.js'
import type { Facet } from '../object-query.js'

/** An informer in the list of all. */
export interface InformerItem extends Sample {
  readonly name: string
  readonly indexes: readonly string[]
}

/** What selects objects of an informer. */
export interface Selection {
  readonly text: string
  readonly values: Readonly<Record<string, string>>
}

/** The server has refused a request. */
export class RequestError extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

async function read<V>(path: string, parameters: Readonly<Record<string, string | number>> = {}): Promise<V> {
  const query = new URLSearchParams(Object.entries(parameters).map(([name, value]) => [name, String(value)]))
  const response = await fetch(`/api/${path}?${query}`)
  const body = await response.json()
  if (!response.ok) throw new RequestError(response.status, String(body.error))
  return body
}

/** Turns the token of the address into a session, and removes it from the address. */
export async function openSession(): Promise<void> {
  const token = new URLSearchParams(location.hash.slice(1)).get('token')
  if (token === null) return
  history.replaceState(null, '', location.pathname)
  await fetch('/api/session', { headers: { Authorization: `Bearer ${token}` } })
}

export const readInformers = (): Promise<readonly InformerItem[]> => read('informers')

export const readStatus = (informer: string): Promise<Inspection> => read('status', { informer })

export const readFacets = (informer: string): Promise<readonly Facet[]> => read('facets', { informer })

export const readObject = (informer: string, key: string): Promise<ObjectPage> => read('object', { informer, key })

export function readRows(
  informer: string,
  { text, values }: Selection,
  offset: number,
  limit: number,
): Promise<ObjectRows> {
  const ofIndexes = Object.fromEntries(Object.entries(values).map(([name, value]) => [`by.${name}`, value]))
  return read('objects', { ...ofIndexes, informer, q: text, offset, limit })
}
