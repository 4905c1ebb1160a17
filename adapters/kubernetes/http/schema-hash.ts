import { SourceError } from '../../../src/contract/errors.js'
import { propertiesOf } from '../../shared/properties.js'
import { apiStatusIn } from './api-error.js'
import type { ApiSession } from './api-session.js'
import { groupPath, type Resource } from './discovery.js'

/**
 * Returns a hash of the schemas of a resource's API, as the server publishes it (OpenAPI v3); undefined if the server
 * does not publish one. Under another schema the same objects may have other content with the same versions: a schema
 * removes fields and adds defaults when objects are read.
 */
export async function schemaHash(session: ApiSession, { apiVersion }: Resource): Promise<string | undefined> {
  try {
    const answer = await session.json({ verb: 'get', path: '/openapi/v3' })
    const { paths } = propertiesOf(answer)
    const name = groupPath(apiVersion).slice(1)
    const api = new Map(Object.entries(propertiesOf(paths))).get(name)
    const { serverRelativeURL } = propertiesOf(api)
    return typeof serverRelativeURL === 'string' ? serverRelativeURL : undefined
  } catch (error) {
    // A server that answers with an error publishes no hash. A server that does not answer is a failure of the list.
    if (apiStatusIn(error) === undefined && error instanceof SourceError && error.code !== 'PROTOCOL') throw error
    return undefined
  }
}
