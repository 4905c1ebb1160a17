import type { SourceError } from '../../src/contract/errors.js'
import type { ListerWatcher } from '../../src/contract/source.js'
import type { SourceKind } from '../args/source-kinds.js'
import type { CliError } from '../output/cli-error.js'

export type Row = Readonly<Record<string, unknown>>

/** A source that a command line names, and the wording of its errors. */
export interface OpenSource {
  readonly source: ListerWatcher<Row>
  readonly kind: SourceKind
  /** The name of the mirrored collection. */
  readonly of: string
  /** Converts an error that ends the command. */
  toCliError(error: SourceError): CliError
  /** Converts the message of an error that does not end the command. */
  message(text: string): string
  /** A hint if the first list is empty: a misspelt name looks like a collection without objects. */
  readonly ifEmpty?: string
  /** Closes the client of the user's driver. Stop the informer first. */
  close(): void
}
