import { createServer, type Server } from 'node:http'
import { json } from 'node:stream/consumers'
import { listening } from '../support/listening.js'
import { isRecord } from './record.js'

/** Says whose a token is, to API servers that ask; tokens come and go as a test wants. */
export class TokenReviewer implements AsyncDisposable {
  /** The user of each token that is good now. */
  readonly users = new Map<string, string>()
  /** How often a token was asked about. */
  asked = 0
  readonly url: string
  readonly #server: Server

  private constructor(server: Server, url: string) {
    this.#server = server
    this.url = url
  }

  static async start(): Promise<TokenReviewer> {
    const server = createServer()
    const reviewer = new TokenReviewer(server, `${await listening(server)}/`)
    server.on('request', (question, answer) => {
      void json(question).then((asked) => {
        reviewer.asked++
        answer.setHeader('content-type', 'application/json').end(JSON.stringify(reviewer.#review(asked)))
      })
    })
    return reviewer
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise<void>((resolve) => this.#server.close(() => resolve()))
  }

  #review(question: unknown): unknown {
    const spec = isRecord(question) ? question['spec'] : undefined
    const token = isRecord(spec) ? spec['token'] : undefined
    const username = typeof token === 'string' ? this.users.get(token) : undefined
    const status =
      username === undefined ? { authenticated: false } : { authenticated: true, user: { username, uid: username } }
    return { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', status }
  }
}
