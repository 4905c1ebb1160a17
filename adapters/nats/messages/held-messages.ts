import type { StoredMessage } from './stored-message.js'

/** Up to this number of messages are held as they were delivered. */
const FEW = 1_000

/**
 * Delivered messages that wait until they add up to a state that the stream had. A reader that is slower than the
 * writers may wait for a long time. So at most twice the number of subjects is held: the newest message of each
 * subject, in the order of their sequences, is such a state as well.
 */
export class HeldMessages {
  #messages: StoredMessage[] = []
  #limit = FEW

  add(messages: readonly StoredMessage[]): void {
    for (const message of messages) this.#messages.push(message)
    if (this.#messages.length <= this.#limit) return
    this.#messages = newestOfEach(this.#messages)
    this.#limit = Math.max(FEW, 2 * this.#messages.length)
  }

  take(): readonly StoredMessage[] {
    const messages = this.#messages
    this.#messages = []
    this.#limit = FEW
    return messages
  }
}

function newestOfEach(messages: readonly StoredMessage[]): StoredMessage[] {
  const newest = new Map<string, StoredMessage>()
  for (const message of messages) {
    newest.delete(message.subject)
    newest.set(message.subject, message)
  }
  return [...newest.values()]
}
