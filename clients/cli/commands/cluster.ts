import type { Argv } from 'yargs'
import { addBalance } from '../cluster/balance-command.js'
import { addDev } from '../cluster/dev-command.js'
import { addDrain, addMove } from '../cluster/owner-commands.js'
import { addSplit } from '../cluster/split-command.js'
import { addStatus } from '../cluster/status-command.js'

export function add(cli: Argv): Argv {
  return cli.command('cluster <command>', 'Look at a cluster, or start one on this machine', (group) =>
    [addBalance, addDev, addDrain, addMove, addSplit, addStatus]
      .reduce((added, add) => add(added), group)
      .demandCommand(1, 'name a command: balance, dev, drain, move, split or status')
      .example('$0 cluster dev', 'three nodes, with all data in ./warpdex-cluster')
      .example('$0 cluster status --json', 'how the node at WARPDEX_URL is, for programs'),
  )
}
