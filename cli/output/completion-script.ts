import { shellQuoted } from '../../src/util/shell-quoted.js'
import type { Command } from '../bundled.js'

export const SHELLS = ['bash', 'zsh', 'fish'] as const

export type Shell = (typeof SHELLS)[number]

/** A script that completes the commands of a program, their options, and the values of those that have choices. */
export function completionScript(program: Command, shell: Shell): string {
  const nodes = nodesOf(program, '')
  switch (shell) {
    case 'bash':
      return bashScript(program.name(), nodes)
    case 'zsh':
      return zshScript(program.name(), nodes)
    case 'fish':
      return fishScript(program.name(), nodes)
  }
}

type Word = readonly [word: string, description: string]

interface Node {
  /** The names of the command and of those above it, without the program. */
  readonly path: string
  /** The names of the subcommands, each with the names above it. */
  readonly below: readonly string[]
  readonly words: readonly Word[]
  readonly choices: readonly (readonly [option: string, values: readonly string[]])[]
}

function nodesOf(command: Command, path: string): Node[] {
  const pathOf = (each: Command): string => (path === '' ? each.name() : `${path} ${each.name()}`)
  const node: Node = {
    path,
    below: command.commands.map((each) => `${path} ${each.name()}`),
    words: [
      ...command.commands.map((each): Word => [each.name(), each.description()]),
      ...command.registeredArguments.flatMap(({ argChoices = [], description }) =>
        argChoices.map((value): Word => [value, `${description} ${value}`]),
      ),
      ...command.options.flatMap(({ long, description }): Word[] => (long === undefined ? [] : [[long, description]])),
      ['--help', 'display help for command'],
    ],
    choices: command.options.flatMap(({ long, argChoices }) =>
      long === undefined || argChoices === undefined ? [] : [[long, argChoices] as const],
    ),
  }
  return [node, ...command.commands.flatMap((each) => nodesOf(each, pathOf(each)))]
}

function bashScript(name: string, nodes: readonly Node[]): string {
  const choices = nodes.flatMap(({ path, choices }) =>
    choices.map(([option, values]) => `    '${path} ${option}') words='${values.join(' ')}' ;;`),
  )
  const words = nodes.map(({ path, words }) => `      '${path}') words='${words.map(([word]) => word).join(' ')}' ;;`)
  return `_${name}() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" command='' words='' word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$command $word" in
      ${patternsOf(nodes, '|')}) command="\${command:+$command }$word" ;;
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

function zshScript(name: string, nodes: readonly Node[]): string {
  const described = ([word, description]: Word): string => shellQuoted(`${word}:${description.replaceAll(':', '\\:')}`)
  const choices = nodes.flatMap(({ path, choices }) =>
    choices.map(([option, values]) => `    '${path} ${option}') offered=(${values.map(shellQuoted).join(' ')}) ;;`),
  )
  const words = nodes.map(({ path, words }) => `      '${path}') offered=(${words.map(described).join(' ')}) ;;`)
  return `_${name}() {
  local command='' word
  local -a offered
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$command $word" in
      ${patternsOf(nodes, '|')}) command="\${command:+$command }$word" ;;
    esac
  done
  case "$command \${words[CURRENT-1]}" in
${choices.join('\n')}
    *) case "$command" in
${words.join('\n')}
    esac ;;
  esac
  _describe ${name} offered || _files
}
compdef _${name} ${name}
`
}

function fishScript(name: string, nodes: readonly Node[]): string {
  const quoted = (text: string): string => `'${text.replace(/[\\']/g, String.raw`\$&`)}'`
  const choices = nodes.flatMap(({ path, choices }) =>
    choices.map(
      ([option, values]) =>
        `    case '${path} ${option}'\n      printf '%s\\n' ${values.map(quoted).join(' ')}\n      return`,
    ),
  )
  const words = nodes.map(
    ({ path, words }) => `    case '${path}'\n      printf '%s\\t%s\\n' ${words.flat().map(quoted).join(' ')}`,
  )
  return `function __${name}_words
  set -l tokens (commandline -opc)
  set -l command ''
  for word in $tokens[2..-1]
    switch "$command $word"
      case ${patternsOf(nodes, ' ')}
        set command (string trim -- "$command $word")
    end
  end
  switch "$command $tokens[-1]"
${choices.join('\n')}
  end
  switch "$command"
${words.join('\n')}
  end
end
complete -c ${name} -f -a '(__${name}_words)'
`
}

/** Patterns for a command, a space and the subcommand of it. */
function patternsOf(nodes: readonly Node[], separator: string): string {
  return nodes.flatMap(({ below }) => below.map((each) => `'${each}'`)).join(separator)
}
