import type { SourceContext } from '../../src/contract/source.js'
import { ClientFactory } from './client-factory.js'
import type { PostgresSourceOptions } from './postgres-options.js'
import { RowCodec } from './row-codec.js'
import { Session } from './session.js'
import { checkWhere, findTable, type Table } from './table-catalog.js'

/** Opens the connections of a source, and looks its table up on them. */
export class TableAccess<T> {
  readonly options: PostgresSourceOptions
  readonly timeoutMs: number
  readonly clients: ClientFactory
  #isWhereChecked = false

  constructor(options: PostgresSourceOptions) {
    this.options = { ...options }
    this.timeoutMs = options.heartbeatTimeoutMs ?? 5_000
    this.clients = new ClientFactory(options.client)
  }

  connect({ signal, clock }: SourceContext): Promise<Session> {
    return Session.open(this.clients, { signal, clock, timeoutMs: this.timeoutMs, table: this.options.table })
  }

  async findTable(session: Session): Promise<Table> {
    const { table, columns, where, rls } = this.options
    const found = await findTable(session, { table, columns, where, rls })
    if (where !== undefined && !this.#isWhereChecked) {
      await checkWhere(session, found, where)
      this.#isWhereChecked = true
    }
    return found
  }

  codec(session: Session, { columns }: Table): RowCodec<T> {
    const { maxObjectBytes = 16 * 1024 * 1024 } = this.options
    return new RowCodec<T>(columns, (typeId) => session.parserOf(typeId), maxObjectBytes)
  }
}
