/** The differences between Node and browsers. The core can be imported without Node. */

/** The part of a `node:diagnostics_channel` channel that is used. */
export interface TelemetryChannel {
  readonly hasSubscribers: boolean
  publish(message: unknown): void
}

interface Warning {
  readonly code?: string
  readonly detail?: string
}

/** Node's `process`; undefined in browsers. A bundler's replacement may lack any of the members. */
const node: Partial<NodeJS.Process> | undefined = globalThis.process

/** The channel of this name in `node:diagnostics_channel`. In browsers there is none: it never has subscribers. */
export function telemetryChannel(name: string): TelemetryChannel {
  const diagnostics = node?.getBuiltinModule?.('node:diagnostics_channel')
  return diagnostics?.channel(name) ?? { hasSubscribers: false, publish: () => {} }
}

/** Emits a process warning of type `ListwatchWarning`. In browsers it is written to the console. */
export function emitWarning(message: string, { code, detail }: Warning = {}): void {
  const options = { type: 'ListwatchWarning', ...(code && { code }), ...(detail && { detail }) }
  if (typeof node?.emitWarning === 'function') node.emitWarning(message, options)
  else console.warn(`ListwatchWarning: ${message}`)
}

/** If `LISTWATCH_DEBUG` is 1, the signal SIGUSR2 prints these lines. The handler does not keep the process alive. */
export function onDebugSignal(lines: () => readonly string[]): void {
  if (node?.env?.['LISTWATCH_DEBUG'] !== '1' || node.platform === 'win32') return
  node.on?.('SIGUSR2', () => {
    for (const line of lines()) node.stderr?.write(`${line}\n`)
  })
}

/** Whether NODE_ENV is `production`, at the call. */
export function isProduction(): boolean {
  return node?.env?.['NODE_ENV'] === 'production'
}

/** The CPU time of this thread in milliseconds, or of the process before Node 23.9; undefined in browsers. */
export function threadCpuMs(): number | undefined {
  const usage = node?.threadCpuUsage?.() ?? node?.cpuUsage?.()
  return usage && (usage.user + usage.system) / 1_000
}

/** Calls `act` after one turn of the event loop, unless the result is called before. */
export function afterTurn(act: () => void): () => void {
  if (typeof setImmediate === 'function') {
    const turn = setImmediate(act)
    return () => clearImmediate(turn)
  }
  // A message, because nested timers of browsers wait for at least 4 ms.
  const { port1, port2 } = new MessageChannel()
  const arrived = (): void => {
    port1.close()
    act()
  }
  port1.addEventListener('message', arrived)
  port1.start()
  port2.postMessage(undefined)
  return () => port1.close()
}
