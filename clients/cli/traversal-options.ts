import { RESOLUTIONS, STRATEGIES } from '../../protocol/traversal.js'

/** The options that say how keys are to be found. */
export const TRAVERSAL_OPTIONS = {
  strategy: {
    choices: STRATEGIES,
    requiresArg: true,
    describe: 'How to go down the tree; by default the server chooses',
  },
  resolution: {
    choices: RESOLUTIONS,
    requiresArg: true,
    describe: 'How results of partitions are combined, for strategies that use partitions',
  },
} as const
