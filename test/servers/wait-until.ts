import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Waits for a condition to hold; rejects after the deadline, with what was waited for. On a machine that is busy with other
 * things a mirror that backs off may well be late by tens of seconds.
 */
export async function waitUntil(what: string, isSo: () => boolean | Promise<boolean>, ms = 60_000): Promise<void> {
  const deadline = performance.now() + ms
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(`waited ${ms} ms in vain for: ${what}`)
    await sleep(5)
  }
}

export function succeeds(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  )
}
