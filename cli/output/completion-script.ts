import type { Command } from '../bundled.js'

/** A script for bash that completes the commands of a program, their options, and the values of options with choices. */
export function completionScript(program: Command): string {
  const name = program.name()
  const nodes = nodesOf(program, '')
  const commands = nodes.flatMap(({ path, command }) => command.commands.map((each) => `${path} ${each.name()}`))
  const choices = nodes.flatMap(({ path, command }) =>
    command.options.flatMap(({ long, argChoices = [] }) =>
      argChoices.length === 0 ? [] : [`    '${path} ${long}') words='${argChoices.join(' ')}' ;;`],
    ),
  )
  const words = nodes.map(({ path, command }) => `      '${path}') words='${wordsOf(command).join(' ')}' ;;`)
  return `_${name}() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" command='' words='' word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$command $word" in
      ${commands.map((each) => `'${each}'`).join('|')}) command="\${command:+$command }$word" ;;
    esac
  done
  case "$command $previous" in
${choices.join('\n')}
    *) case "$command" in
${words.join('\n')}
    esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _${name} ${name}
`
}

interface Node {
  /** The names of the command and of those above it, without the program. */
  readonly path: string
  readonly command: Command
}

function nodesOf(command: Command, path: string): Node[] {
  const below = command.commands.flatMap((each) => nodesOf(each, path === '' ? each.name() : `${path} ${each.name()}`))
  return [{ path, command }, ...below]
}

function wordsOf({ commands, options }: Command): string[] {
  return [...commands.map((each) => each.name()), ...options.flatMap(({ long }) => long ?? []), '--help']
}
