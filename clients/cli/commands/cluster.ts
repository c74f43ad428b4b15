import type { Argv } from 'yargs'
import { addDev } from '../cluster/dev-command.js'
import { addStatus } from '../cluster/status-command.js'

export function add(cli: Argv): Argv {
  return cli.command('cluster <command>', 'Look at a cluster, or start one on this machine', (group) =>
    addStatus(addDev(group)).demandCommand(1, 'name a command: dev or status'),
  )
}
