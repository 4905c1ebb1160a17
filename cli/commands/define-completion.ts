import { Argument, type Command } from '../bundled.js'
import { completionScript, SHELLS, type Shell } from '../output/completion-script.js'

/** Adds the command `completion`. Call it last, because it completes the commands that exist. */
export function defineCompletion(program: Command): void {
  program
    .command('completion')
    .description('print a script that completes commands and options in a shell')
    .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
    .addHelpText(
      'after',
      `
Examples:
  eval "$(listwatch completion bash)"       # in ~/.bashrc
  source <(listwatch completion zsh)        # in ~/.zshrc, after compinit
  listwatch completion fish | source        # in ~/.config/fish/config.fish`,
    )
    .action((shell: Shell) => void process.stdout.write(completionScript(program, shell)))
}
