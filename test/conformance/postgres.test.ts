import { describeListerWatcher } from '../../testing/index.js'
import { useServer } from '../postgres/support.js'
import { describePostgres } from '../servers/index.js'
import { postgresHarness } from './postgres-harness.js'

describePostgres('the Postgres source', async (postgres) => {
  await describeListerWatcher('a table', postgresHarness(useServer(postgres)))
})
