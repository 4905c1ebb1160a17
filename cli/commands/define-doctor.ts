import { addSourceOptions } from '../args/source-options.js'
import type { Command } from '../bundled.js'

/** Adds the command `doctor`. */
export function defineDoctor(program: Command): void {
  const doctor = program
    .command('doctor')
    .description('check a source for what can be wrong with it; it reads only. Exit code 1 if there is an error')
  addSourceOptions(doctor)
    .option('--json', 'the result as one line of JSON')
    .addHelpText(
      'after',
      `
Each finding has a name, a severity, one sentence, and the command or the option that repairs it. docs/how-to/doctor.md explains
all checks. Exit code 0: no error; there may be warnings. 1: an error. 2: a mistake in the command line, or no connection.

Examples:
  listwatch doctor postgres://user@host/db --table orders
  listwatch doctor redis://localhost:6379 --keys 'user:*' --json`,
    )
    .action(async (url: string, flags, command) => (await import('./doctor.js')).doctor(url, flags, command))
}
