import type { Argv } from 'yargs'
import { RESOLUTIONS, STRATEGIES } from '../../protocol/traversal.js'
import { parseTraversal, type TraversalOptions } from '../../protocol/traversal-options.js'

/** Adds the options that say how keys are to be found. */
export function traversalOptions<T>(cli: Argv<T>): Argv<T & TraversalOptions> {
  return cli
    .option('strategy', {
      choices: STRATEGIES,
      requiresArg: true,
      describe: 'How to go down the tree; the server chooses where it is not said',
    })
    .option('resolution', {
      choices: RESOLUTIONS,
      requiresArg: true,
      describe: "How partitions' results become one, for strategies that go down partitions",
    })
    .check(({ strategy, resolution }) => {
      parseTraversal({ strategy, resolution })
      return true
    })
}
