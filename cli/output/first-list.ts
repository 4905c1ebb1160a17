import { SourceError } from '../../src/contract/errors.js'
import type { Informer } from '../../src/informer/informer-types.js'
import type { OpenSource, Row } from '../sources/source-types.js'
import { oneLine } from './error-hints.js'

/** Whether the error is about one undecodable object. The mirror continues without that object. */
export function isDecodeError({ code, phase }: SourceError): boolean {
  return code === 'DECODE' && phase === 'decode'
}

/**
 * Prints the error of each undecodable object, and after the first list all other errors. With a live view nothing is
 * printed, because the view shows the state and its reason. Returns a function for the newest error of an object
 * without a key.
 */
export function reportErrors<I>(
  rows: Informer<Row, I>,
  { message }: OpenSource,
  hasScreen: boolean,
): () => string | undefined {
  let unnamed: string | undefined
  rows.on('error', (error) => {
    const line = oneLine(message(error.message))
    if (!isDecodeError(error) && !rows.status.isSynced) return // It ends the command.
    if (isDecodeError(error) && error.key === undefined) unnamed = line
    if (!hasScreen) process.stderr.write(`listwatch: ${line}\n`)
  })
  return () => unnamed
}

/** If the first list fails with an error that `ends` selects, the command ends: most likely it has a mistake. */
export async function awaitFirstList<I>(
  rows: Informer<Row, I>,
  open: OpenSource,
  signal: AbortSignal,
  ends: (error: SourceError) => boolean = (error) => !isDecodeError(error),
): Promise<void> {
  const failed = Promise.withResolvers<never>()
  const refuse = (error: SourceError): void => {
    const { code, cause } = error
    if (ends(error)) failed.reject(open.toCliError(new SourceError(rows.status.reason, { code, cause })))
  }
  rows.on('error', refuse)
  try {
    await Promise.race([rows.start({ signal }).synced({ signal }), failed.promise])
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    rows.off('error', refuse)
  }
}
