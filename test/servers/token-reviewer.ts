import { createServer, type Server } from 'node:http'
import { isRecord } from './record.js'

/** Says whose a token is, to API servers that ask; tokens come and go as a test wants. */
export class TokenReviewer implements AsyncDisposable {
  /** The user of each token that is good now. */
  readonly users = new Map<string, string>()
  /** How often a token was asked about. */
  asked = 0
  readonly url: string
  readonly #server: Server

  private constructor(server: Server, port: number) {
    this.#server = server
    this.url = `http://127.0.0.1:${port}/`
  }

  static async start(): Promise<TokenReviewer> {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const address = server.address()
    const reviewer = new TokenReviewer(server, typeof address === 'object' && address !== null ? address.port : 0)
    server.on('request', (question, answer) => {
      const pieces: Buffer[] = []
      question.on('data', (piece: Buffer) => pieces.push(piece))
      question.on('end', () => {
        reviewer.asked++
        answer.setHeader('content-type', 'application/json')
        answer.end(JSON.stringify(reviewer.#review(JSON.parse(Buffer.concat(pieces).toString('utf8')))))
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
