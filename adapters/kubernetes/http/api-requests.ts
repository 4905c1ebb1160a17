import type { ApiRequest } from './api-session.js'
import { type Resource, resourcePath } from './discovery.js'

export interface Selection {
  readonly namespace: string | undefined
  readonly labelSelector: string | undefined
  readonly fieldSelector: string | undefined
  readonly shardSelector?: string | undefined
  readonly metadataOnly: boolean
}

type Parameters = Readonly<Record<string, string | number | boolean | undefined>>

const PARTIAL = (kind: string): string => `application/json;as=${kind};v=v1;g=meta.k8s.io,application/json`

export class ApiRequests {
  readonly resource: Resource
  readonly #selection: Selection

  constructor(resource: Resource, selection: Selection) {
    this.resource = resource
    this.#selection = selection
  }

  list(parameters: Parameters, metadataOnly: boolean = this.#selection.metadataOnly): ApiRequest {
    return this.#question('list', parameters, metadataOnly ? PARTIAL('PartialObjectMetadataList') : undefined)
  }

  watch(parameters: Parameters): ApiRequest {
    const accept = this.#selection.metadataOnly ? PARTIAL('PartialObjectMetadata') : undefined
    return this.#question('watch', { watch: true, allowWatchBookmarks: true, ...parameters }, accept)
  }

  #question(verb: 'list' | 'watch', parameters: Parameters, accept: string | undefined): ApiRequest {
    const { namespace, labelSelector, fieldSelector, shardSelector } = this.#selection
    const query = new URLSearchParams()
    for (const [name, value] of Object.entries({ ...parameters, labelSelector, fieldSelector, shardSelector }))
      if (value !== undefined && value !== '') query.set(name, String(value))
    const { group, plural } = this.resource
    return {
      verb,
      group,
      plural,
      namespace,
      path: `${resourcePath(this.resource, namespace)}?${query}`,
      ...(accept === undefined ? {} : { accept }),
    }
  }
}
