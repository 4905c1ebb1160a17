import { Argument, type Command } from '../bundled.js'
import { completionScript } from '../output/completion-script.js'

/** Adds the command `completion`. Call it last, because it completes the commands that exist. */
export function defineCompletion(program: Command): void {
  program
    .command('completion')
    .description('print a script that completes commands and options in a shell')
    .addArgument(new Argument('<shell>', 'the shell').choices(['bash']))
    .addHelpText('after', '\nExample, in ~/.bashrc:\n  eval "$(listwatch completion bash)"')
    .action(() => void process.stdout.write(completionScript(program)))
}
