/** `scheme://user:password@`; a password may hold an `@`. The length of a scheme has a limit, so that a long word is no long work. */
const userInfo = /([a-z][a-z0-9+.-]{0,30}:\/\/)([^\s/?#@:]*):[^\s/?#]*@/gi

/** The same where a `/`, `?` or `#` of the password stands for itself: what follows the colon is then no port. */
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

/** A text that may be logged: passwords in URLs, DSNs, query strings and headers are replaced by `***`. */
export function redact(text: string): string {
  return [authorization, cookie, namedSecret].reduce(
    (safe, secret) => safe.replace(secret, '$1***'),
    text.replace(userInfo, '$1$2:***@').replace(rawUserInfo, '$1$2:***@'),
  )
}

function secretNamed(names: string, value: string): RegExp {
  return new RegExp(String.raw`((?:${names})["']?\s*[=:]\s*)(?:${quoted}|${value})`, 'gi')
}
