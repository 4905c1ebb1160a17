import { createInformer } from '../../src/informer/create-informer.js'
import { oneLine } from '../output/error-hints.js'
import { awaitFirstList, isDecodeError } from '../output/first-list.js'
import type { OpenSource, Row } from '../sources/source-types.js'
import { type Check, errorCheck, type Finding, warningCheck } from './check.js'

interface Openable {
  /** Opens the source over a connection of its own. */
  open(): Promise<OpenSource>
}

/** Finds out whether a mirror can read the source at all. `what` begins the message, such as "the bucket cannot be read". */
export function listCheck<C extends Openable>(what: string): Check<C> {
  return errorCheck('list', async (context) => {
    try {
      await readObjects(context)
      return undefined
    } catch (error) {
      return { problem: `${what}: ${oneLine(error)}` }
    }
  })
}

export function undecodableCheck<C extends Openable>(): Check<C> {
  return { ...warningCheck('undecodable', readObjects), runsLast: true }
}

/** Reads each object once, and keeps none. Returns how many cannot be decoded. Throws if the source cannot be read. */
async function readObjects({ open }: Openable): Promise<Finding | undefined> {
  const opened = await open()
  const rows = createInformer({ source: opened.source, audit: false, transform: (): Row | undefined => undefined })
  const errors: string[] = []
  rows.on('error', (error) => {
    if (isDecodeError(error)) errors.push(opened.message(error.message))
  })
  try {
    await awaitFirstList(rows, opened, new AbortController().signal)
  } finally {
    await rows.stop()
    opened.close()
  }
  const [first] = errors
  if (first === undefined) return undefined
  return {
    problem: `a mirror lacks ${errors.length} of the objects, because they cannot be decoded: ${first}`,
    remedy: 'correct these values, or use another --codec',
  }
}
