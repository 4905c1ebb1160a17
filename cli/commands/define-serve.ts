import { collect, portNumber } from '../args/parsers.js'
import { addSourceOptions } from '../args/source-options.js'
import type { Command } from '../bundled.js'

/** Adds the command `serve`. */
export function defineServe(program: Command): void {
  const serve = program
    .command('serve')
    .description('mirror sources, and serve a page that shows their objects and changes')
  addSourceOptions(serve, { argument: '[url]' })
    .option('--index <column>', 'index by this column; may be given more than once', collect, [])
    .option('--port <number>', 'the TCP port of the page; default: a free one', portNumber)
    .option('--show-secrets', 'show the values of Kubernetes Secrets')
    .option('--for <duration>', 'stop this long after the first list: 20s, 10m; default: until Ctrl-C')
    .addHelpText(
      'after',
      `
The page can only be opened on this machine, by the printed address. It works during the first list. Without a URL it
shows all sources of the configuration file: docs/reference/cli.md.

Examples:
  listwatch serve postgres://user@host/db --table orders --index tenant --index status
  listwatch serve etcd://localhost:2379 --prefix /jobs/ --port 8080
  listwatch serve kubernetes://default/pods --index spec.nodeName
  listwatch serve --config listwatch.config.ts`,
    )
    .action(async (url: string | undefined, flags, command) => (await import('./serve.js')).serve(url, flags, command))
}
