import type { SourceContext } from '../../../src/contract/source.js'
import { unavailable } from '../../common/source-errors.js'
import { ClientFactory } from '../connection/client-factory.js'
import { Session } from '../connection/session.js'
import type { PostgresSourceOptions } from '../postgres-options.js'
import { type CheckedCondition, checkCondition, definitionOf } from './condition-check.js'
import { RowCodec } from './row-codec.js'
import { findTable, type Table } from './table-catalog.js'

export class TableAccess<T> {
  readonly options: PostgresSourceOptions
  readonly timeoutMs: number
  readonly pollIntervalMs: number
  readonly clients: ClientFactory
  #checked: CheckedCondition | undefined

  constructor(options: PostgresSourceOptions) {
    this.options = { ...options }
    this.timeoutMs = options.timeoutMs ?? 5_000
    this.pollIntervalMs = options.pollIntervalMs ?? 1_000
    this.clients = new ClientFactory(options.connect)
  }

  connect({ signal, clock }: SourceContext): Promise<Session> {
    return Session.open(this.clients, { signal, clock, timeoutMs: this.timeoutMs, table: this.options.table })
  }

  /** Checks the condition, unless the table and the functions that it calls are those of the last check. */
  async findTable(session: Session): Promise<Table> {
    const found = await session.isolated(() => findTable(session, this.options))
    const { sql: where } = this.options
    if (where === undefined) return found
    const { functions } = this.#checked ?? {}
    if (functions !== undefined && (await session.isolated(() => this.#isChecked(session, { ...found, functions }))))
      return { ...found, functions }
    const checked = await checkCondition(session, found, where)
    this.#checked = checked
    return { ...found, functions: checked.functions }
  }

  /** Looks the table up again, in a transaction. Throws if the condition has to be checked again. */
  async findTableAgain(session: Session, { functions }: Table): Promise<Table> {
    const found = { ...(await findTable(session, this.options)), functions }
    if (this.options.sql !== undefined && !(await this.#isChecked(session, found)))
      throw unavailable(`${found.name} was changed during its look-up`)
    return found
  }

  async #isChecked(session: Session, table: Table): Promise<boolean> {
    return (await definitionOf(session, table)) === this.#checked?.definition
  }

  codec(session: Session, { columns }: Table): RowCodec<T> {
    const { maxObjectBytes = 16 * 1024 * 1024 } = this.options
    return new RowCodec<T>(columns, (typeId) => session.parserOf(typeId), maxObjectBytes, session.isAscii)
  }
}
