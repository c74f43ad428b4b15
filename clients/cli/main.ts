#!/usr/bin/env node
import type { Adds } from './command.js'
import { oneLine, runProgram } from './program.js'

/** Each is loaded when it is asked for: what all of them import would be most of the time that a short one takes. */
const COMMANDS: Readonly<Record<string, () => Promise<{ readonly add: Adds }>>> = {
  serve: () => import('./commands/serve.js'),
  create: () => import('./commands/create.js'),
  list: () => import('./commands/list.js'),
  drop: () => import('./commands/drop.js'),
  rename: () => import('./commands/rename.js'),
  swap: () => import('./commands/swap.js'),
  put: () => import('./commands/put.js'),
  insert: () => import('./commands/insert.js'),
  get: () => import('./commands/get.js'),
  lookup: () => import('./commands/lookup.js'),
  next: () => import('./commands/next.js'),
  explain: () => import('./commands/explain.js'),
  entries: () => import('./commands/entries.js'),
  count: () => import('./commands/count.js'),
  watch: () => import('./commands/watch.js'),
  query: () => import('./commands/query.js'),
  sql: () => import('./commands/sql.js'),
  delete: () => import('./commands/delete.js'),
  'delete-rows': () => import('./commands/delete-rows.js'),
  'update-rows': () => import('./commands/update-rows.js'),
  clear: () => import('./commands/clear.js'),
  import: () => import('./commands/import.js'),
  relations: () => import('./commands/relations.js'),
  stats: () => import('./commands/stats.js'),
  slow: () => import('./commands/slow.js'),
  calibrate: () => import('./commands/calibrate.js'),
  snapshot: () => import('./commands/snapshot.js'),
  token: () => import('./commands/token.js'),
  backup: () => import('./commands/backup.js'),
  restore: () => import('./commands/restore.js'),
  verify: () => import('./commands/verify.js'),
  doctor: () => import('./commands/doctor.js'),
  cluster: () => import('./commands/cluster.js'),
}

const EPILOGUE = `Exit codes: 0 done, 1 a key was not found (or was there already), 2 an error.
Clients take the server from --url or WARPDEX_URL, and the token from WARPDEX_TOKEN or --token.`

const command = process.argv[2] ?? ''

/** What yargs found wrong, in clearer words: it takes an unknown command for an argument. */
function clearer(message: string): string {
  if (command === '' || command.startsWith('-') || Object.hasOwn(COMMANDS, command)) {
    const [, came, least] = /non-option arguments: got (\d+), need at least (\d+)/.exec(message) ?? []
    return came === undefined ? oneLine(message) : `too few arguments: ${came} of at least ${least}`
  }
  const near = /^Did you mean (.*)\?$/.exec(message.trim())?.[1]
  // yargs goes by the number of letters that differ, and takes "foo" for "drop".
  const isNear = near?.[0] === command[0]
  return `there is no command "${command}"${isNear ? `; did you mean "${near}"?` : ''}`
}

await runProgram({
  name: 'warpdex',
  title: /^[a-z]+$/.test(command) ? `warpdex ${command}` : 'warpdex',
  helpsAlone: true,
  clearer,
  async declare(cli) {
    // All are there where the first argument is none of them.
    const loads = Object.hasOwn(COMMANDS, command) ? [COMMANDS[command]] : Object.values(COMMANDS)
    for (const { add } of await Promise.all(loads.map((load) => load()))) add(cli)
    return cli
      .usage('$0 <command>\n\nA GPU secondary-index server, and its client.')
      .recommendCommands()
      .completion('completion', 'Print a script that has bash or zsh complete commands and options')
      .epilogue(EPILOGUE)
  },
})
