/** Whether the store of a relay was reached, but does not have a whole batch yet. */
export function isReachedStore(message: string): boolean {
  return /\brelay has written\b/.test(message)
}

/** Adds the remedy if no relay has written. */
export function withRelayRemedy(message: string): string {
  return message.replace(/no relay has written to .+? yet/, '$&: start listwatch relay, or check the name')
}
