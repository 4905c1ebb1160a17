import { timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'

export interface Refusal {
  readonly status: 401 | 403 | 405 | 421
  readonly message: string
}

const HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-store',
}

export function setSecurityHeaders(response: ServerResponse): void {
  for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value)
}

/**
 * Decides whether a request may be answered. It protects a server on loopback from other pages of the same browser:
 * from DNS rebinding by `Host`, and from requests across sites by `Origin` and `Sec-Fetch-Site`.
 */
export class RequestGuard {
  readonly #token: Buffer
  readonly #hosts: ReadonlySet<string>
  readonly #cookie: string

  /** `hosts`: the allowed values of `Host` as a browser sends them: lower case, and with the port unless it is 80. */
  constructor(token: string, hosts: Iterable<string>, port: number) {
    this.#token = Buffer.from(token)
    this.#hosts = new Set(hosts)
    this.#cookie = `listwatch-${port}`
  }

  /** The value of `Set-Cookie` that opens a session of a browser. */
  get cookie(): string {
    return `${this.#cookie}=${this.#token.toString()}; Path=/; HttpOnly; SameSite=Strict`
  }

  refusal({ method, headers }: IncomingMessage): Refusal | undefined {
    const { host = '', origin } = headers
    if (method !== 'GET') return { status: 405, message: 'only GET is allowed' }
    if (!this.#hosts.has(host.toLowerCase())) return { status: 421, message: 'the Host header names another host' }
    if (origin !== undefined && origin !== `http://${host}`)
      return { status: 403, message: 'the Origin header names another site' }
    const site = headers['sec-fetch-site']
    if (site !== undefined && site !== 'same-origin' && site !== 'none')
      return { status: 403, message: 'the request comes from another site' }
    return undefined
  }

  /** Whether the request has the token, in `Authorization: Bearer` or in the cookie. */
  isAuthorized({ headers }: IncomingMessage): boolean {
    const bearer = /^Bearer (.+)$/i.exec(headers.authorization ?? '')?.[1]
    if (bearer !== undefined) return this.#isToken(bearer)
    const cookies = (headers.cookie ?? '').split(';').map((each) => each.trim())
    return cookies.some((each) => {
      const at = each.indexOf('=')
      return each.slice(0, at) === this.#cookie && this.#isToken(each.slice(at + 1))
    })
  }

  #isToken(text: string): boolean {
    const given = Buffer.from(text)
    return given.length === this.#token.length && timingSafeEqual(given, this.#token)
  }
}
