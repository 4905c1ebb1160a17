/**
 * Runs in the process of an API program, before it: loads the program's text as the runner prepared it, replaces its
 * fixed ports and addresses, lets time run faster, and lets a set-up define its globals.
 * See programs.ts.
 */
import { registerHooks } from 'node:module'
import { Server } from 'node:net'

interface Settings {
  /** By the URL of a program: its text as JavaScript. */
  readonly texts: Readonly<Record<string, string>>
  /** Beginnings of addresses that are fetched, and what stands there instead. */
  readonly addresses: Readonly<Record<string, string>>
  /** How many times faster than real time its monotonic clock and its timers run. */
  readonly speed: number
  readonly setup: string | undefined
}

const settings: Settings = JSON.parse(process.env['LISTWATCH_PROGRAM'] ?? '{}')

registerHooks({
  load(url, context, next) {
    const source = settings.texts[url]
    return source === undefined ? next(url, context) : { format: 'module', source, shortCircuit: true }
  },
})

const listen = Server.prototype.listen as (this: Server, ...args: unknown[]) => Server
Server.prototype.listen = function (this: Server, wanted?: unknown, ...rest: unknown[]): Server {
  if (typeof wanted !== 'number') return listen.call(this, wanted, ...rest)
  this.once('listening', () => {
    const address = this.address()
    if (typeof address === 'object') process.send?.({ type: 'listening', wanted, port: address?.port })
  })
  return listen.call(this, 0, '127.0.0.1', ...rest)
} as typeof Server.prototype.listen

const { fetch } = globalThis
globalThis.fetch = (input, init) => {
  const url = input instanceof Request ? input.url : String(input)
  const moved = Object.entries(settings.addresses).find(([from]) => url.startsWith(from))
  return fetch(moved === undefined ? input : moved[1] + url.slice(moved[0].length), init)
}

const { setTimeout } = globalThis
const sooner = (callback: () => void, ms = 0, ...args: []): NodeJS.Timeout =>
  setTimeout(callback, ms / settings.speed, ...args)
Object.assign(globalThis, { setTimeout: Object.assign(sooner, setTimeout) })
const now = performance.now.bind(performance)
performance.now = () => now() * settings.speed

if (settings.setup !== undefined) await import(settings.setup)
// What the set-up listens to does not keep the program alive.
process.channel?.unref()
