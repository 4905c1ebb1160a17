import { setTimeout as sleep } from 'node:timers/promises'

/** Waits for a condition to hold; rejects after the deadline, with what was waited for. */
export async function waitUntil(what: string, isSo: () => boolean | Promise<boolean>, ms = 10_000): Promise<void> {
  const deadline = performance.now() + ms
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(`waited ${ms} ms in vain for: ${what}`)
    await sleep(5)
  }
}
