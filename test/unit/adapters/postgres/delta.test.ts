import { expect, test } from 'vitest'
import { postgresError } from '../../../../adapters/postgres/connection/postgres-errors.js'
import type { Session } from '../../../../adapters/postgres/connection/session.js'
import { readDelta } from '../../../../adapters/postgres/delta-query.js'
import { parseVersion } from '../../../../adapters/postgres/postgres-version.js'
import { RowCodec } from '../../../../adapters/postgres/table/row-codec.js'
import type { Table } from '../../../../adapters/postgres/table/table-catalog.js'
import { failure } from '../../../support/failure.js'

test('[P20] a change whose text is longer than a string can be leads to a list, which reports the row', async () => {
  const error = Object.assign(new Error('Cannot create a string longer'), { code: 'ERR_STRING_TOO_LONG' })
  const session = { texts: () => Promise.reject(postgresError(error)) } as unknown as Session
  const codec = new RowCodec([], () => String, 1)
  const version = parseVersion('pg1.1.2.e.g.s..7:7:')
  await expect(readDelta(session, {} as Table, 'SELECT', codec, version, undefined)).rejects.toMatchObject(
    failure('VERSION_EXPIRED', 'too large'),
  )
})
