import type { SourceError } from '../../src/contract/errors.js'
import type { ListerWatcher } from '../../src/contract/source.js'
import type { SourceKind } from '../args/source-kinds.js'
import type { CliError } from '../output/cli-error.js'

export type Row = Readonly<Record<string, unknown>>

/** The options of one collection of a source. `sourceKindOf` rejects those that another kind of source has. */
export interface SourceOptions {
  readonly columns?: readonly string[]
  readonly sql?: string
  readonly rls?: 'row-local'
  readonly index?: readonly string[]
  readonly fields?: readonly string[]
  /** The fields of the conditions of `query`. */
  readonly compared?: readonly string[]
  readonly codec?: 'json' | 'string' | 'bytes'
  readonly collection?: string
  readonly relay?: string
  readonly stream?: string
  readonly keys?: string
  readonly key?: string
  readonly fold?: boolean
  readonly cluster?: boolean
  readonly bucket?: string
  readonly subjects?: readonly string[]
  readonly selector?: string
  readonly fieldSelector?: string
  readonly context?: string
  readonly metadataOnly?: boolean
}

export type TableFlags = SourceOptions & { readonly table: string }
export type PrefixFlags = SourceOptions & { readonly prefix: string }

/** A source that a command line names, and the wording of its errors. */
export interface OpenSource extends Disposable {
  readonly source: ListerWatcher<Row>
  readonly kind: SourceKind
  readonly of: string
  /** Converts an error that ends the command. */
  toCliError(error: SourceError): CliError
  /** Converts the message of an error that does not end the command. */
  message(text: string): string
  /** A hint if the first list is empty: a misspelt name looks like a collection without objects. */
  readonly ifEmpty?: string
  /** Closes the client of the user's driver. Stop the informer first. */
  [Symbol.dispose](): void
}
