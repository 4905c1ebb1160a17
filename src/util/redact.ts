import { membersOf } from './type-guards.js'

/** A password may contain `@`. The length of a scheme is limited, so that a long word does not take long. */
const userInfo = /([a-z][a-z0-9+.-]{0,30}:\/\/)([^\s/?#@:]*):[^\s/?#]*@/gi

/** As above, with a password that contains `/`, `?` or `#`: then the text after the colon is not a port. */
const rawUserInfo = /([a-z][a-z0-9+.-]{0,30}:\/\/)([^\s/?#@:]*):(?!\d{0,5}[/?])[^\s"']{0,200}@/gi

/** In quotes, which may be missing at the end of a text that was cut. */
const quoted = String.raw`"[^"\\]*(?:\\.[^"\\]*)*"?|'[^'\\]*(?:\\.[^'\\]*)*'?`

/** `password=…`, `access_token: …`, `"secret": "…"` in a DSN, a query string, a header, an environment or JSON. */
const namedSecret = secretNamed(
  'password|passwd|pwd|secret|token|api[_-]?key|access[_-]?key|sslkey',
  String.raw`[^\s&;,'"]+?(?=:?(?:[\s&;,'"]|$))`, // A colon at its end is of the sentence.
)
/** With or without a scheme: `Bearer …`. */
const authorization = secretNamed('authorization', String.raw`(?:\w+\s+)?[^\s,;'"]+`)
/** All cookies of a header. */
const cookie = secretNamed('cookie', String.raw`[^\r\n]+`)

/** V8 quotes up to 40 characters of a text that is not JSON: they may be a password, a token or a part of a Secret. */
const quotedJson = /(?:Unexpected token .{1,4}, )?(?:\.{3})?"[\s\S]{0,80}?"(?:\.{3})? is not valid JSON/gu
/** A JSON Web Token: the header of each one begins with `{"`. */
const webToken = /\beyJ[\w-]{5,}\.[\w.-]*/g
const privateKey = /-----BEGIN ([A-Z ]*PRIVATE KEY)-----[\s\S]*?(?:-----END \1-----|$)/g

/**
 * A text that may be logged: passwords in URLs, DSNs, query strings and headers, tokens and private keys are replaced
 * by `***`; what an error of JSON.parse quotes is left out.
 */
export function redact(text: string): string {
  return [authorization, cookie, namedSecret].reduce(
    (safe, secret) => safe.replace(secret, '$1***'),
    text
      .replace(quotedJson, 'the text is not valid JSON')
      .replace(privateKey, '*** ($1)')
      .replace(webToken, '***')
      .replace(userInfo, '$1$2:***@')
      .replace(rawUserInfo, '$1$2:***@'),
  )
}

/** Causes of causes are followed this far. */
const MAX_CAUSES = 8

/**
 * A copy of an error that may be logged, and the same of its causes: name, message, stack and a `code` in letters or
 * digits. Other properties are left out: those of a driver or a child process quote rows, commands and output.
 */
export function redactError(thrown: unknown, depth = 0): Error {
  const { name, message, stack, code, cause } = membersOf(thrown)
  const inner = cause === undefined || depth === MAX_CAUSES ? {} : { cause: redactError(cause, depth + 1) }
  const safe = new Error(redact(typeof message === 'string' ? message : textOf(thrown)), inner)
  if (typeof name === 'string') Object.defineProperty(safe, 'name', { value: name, configurable: true, writable: true })
  const frames = typeof stack === 'string' ? stack.split('\n').filter((line) => /^\s+at /.test(line)) : []
  safe.stack = [`${safe.name}: ${safe.message}`, ...frames].join('\n')
  return typeof code === 'string' || typeof code === 'number' ? Object.assign(safe, { code }) : safe
}

function textOf(thrown: unknown): string {
  try {
    return String(thrown)
  } catch {
    return 'an object' // One without a prototype, or whose toString throws.
  }
}

function secretNamed(names: string, value: string): RegExp {
  return new RegExp(String.raw`((?:${names})["']?\s*[=:]\s*)(?:${quoted}|${value})`, 'gi')
}
