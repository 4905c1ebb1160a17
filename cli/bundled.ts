/** The packages that only the command line uses. scripts/bundle.mjs puts their code into this file when it is built. */
export { Argument, Command, CommanderError, InvalidArgumentError, Option } from 'commander'
export { default as colors } from 'picocolors'
