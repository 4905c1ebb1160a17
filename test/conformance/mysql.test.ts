import { describeListerWatcher } from '../../testing/index.js'
import { useMysql } from '../mysql/support.js'
import { describeMysql } from '../servers/index.js'
import { mysqlHarness } from './mysql-harness.js'

describeMysql('a table of', async (server) => {
  const own = useMysql(server, { args: ['--loose-slave-connections-needed-for-purge=0'] })
  await describeListerWatcher('the server, followed alone', mysqlHarness(own))
  await describeListerWatcher('mysqlDatabase', mysqlHarness(own, true))
})
