/** `scheme://user:password@` */
const userInfo = /([a-z][a-z0-9+.-]*:\/\/)([^\s/?#@:]*):([^\s/?#@]*)@/gi
/** `password=…`, `token: …`, also quoted, in a DSN, a query string or a header. */
const namedSecret =
  /\b(password|passwd|pwd|secret|token|api[_-]?key|access[_-]?key|authorization|cookie|sslpassword|sslkey)\b(\s*[=:]\s*)("[^"]*"|'[^']*'|(?:bearer|basic)\s+[^\s,;]+|[^\s&;,'"]+)/gi

/** A text that may be logged: passwords in URLs, DSNs, query strings and headers are replaced by `***`. */
export function redact(text: string): string {
  return text.replace(userInfo, '$1$2:***@').replace(namedSecret, '$1$2***')
}
